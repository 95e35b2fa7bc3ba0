import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { peoplePhotos } from '../../photos.js';
import type { Bench, BenchOptions, Measured } from '../bench.js';
import { shippedSettings, startWithAnswer } from '../http/answered-image.js';
import { httpColumns, measured, requestsOf, warmUp, type HttpSide } from '../http/http-side.js';
import { lookupsWithoutHit } from '../http/lookups-without-hit.js';
import { startGenerator, type Generator } from '../http/start-generator.js';
import { interleaved, ratios } from '../rounds.js';
import { withSurroundings, type Part, type Surroundings } from '../surroundings.js';
import { jpegOfSize } from './jpeg-of-size.js';

const [ours, rival, onArrival] = ['edge', 'Hono, hashes and one GET', 'node:http, hashes on arrival'] as const;
const mostBytes = 100_000;
const callers = 32;
/** So that a round of any side takes some seconds. */
const requests = 8_000;

export const upload: Bench = {
  name: 'upload',
  about:
    'POST of a JPEG of 100 kB whose answer lies in the cache, to the shipped edge; beside it a Hono route that reads the body, makes MD5 and SHA-256 and does one GET of Redis, and node:http hashing while the body arrives.',
  run: async (options) => {
    const folder = mkdtempSync(join(tmpdir(), 'sampan-bench-upload-'));
    const generator = startGenerator();
    try {
      return await withSurroundings((here) => compare(here, generator, folder, options));
    } finally {
      await generator.stop();
      rmSync(folder, { recursive: true, force: true });
    }
  },
};

async function compare(
  here: Surroundings,
  generator: Generator,
  folder: string,
  options: BenchOptions,
): Promise<Measured> {
  const image = await jpegOfSize(peoplePhotos[0] ?? '', 640, mostBytes);
  const file = join(folder, 'photo.jpg');
  writeFileSync(file, image);
  const { edge, stream, cache, predictPath, answer } = await startWithAnswer(here, image);
  const side = (name: string, server: Part, redis: readonly number[]): HttpSide => {
    const pace = { kind: 'closed', callers, requests: options.quick ? requests / 20 : requests } as const;
    const headers = { 'content-type': 'image/jpeg' };
    const load = { method: 'POST', paths: [predictPath], headers, files: [file], pace };
    return { name, server, redis, load, generator };
  };
  const rivalPart = (module: string) => here.start(`test/bench/upload/${module}.js`, {}, [cache.url]);
  const sides = [
    { ...side(ours, edge, [stream.pid, cache.pid]), otherAnswers: await lookupsWithoutHit(edge) },
    side(rival, await rivalPart('hash-and-get'), [cache.pid]),
    side(onArrival, await rivalPart('hash-on-arrival'), [cache.pid]),
  ];
  for (const one of sides) await warmUp(one, options);
  const rounds = await interleaved(sides.map(measured), { ...options, warmUps: 0 });
  return {
    rounds,
    columns: [...httpColumns],
    goals: [
      {
        promise: 'CPU per upload hit at the edge at most 1.2 × that of a route that hashes and does one GET',
        perRound: ratios(rounds, 'server', ours, rival),
        bound: { atMost: 1.2 },
      },
    ],
    charts: [{ name: 'cpu', title: 'An upload of 100 kB that hits: CPU µs of the server per request', key: 'server' }],
    settings: {
      ...{ callers, imageBytes: image.length, answerBytes: answer.length },
      ...{ ...requestsOf(sides), ...shippedSettings },
    },
    remarks: [
      'the edge also does what it does at a lookup, reads type and size from the image header, bounds the body, and keeps all of it, since a miss would send it on; hashing on arrival keeps nothing, and could send nothing on',
    ],
  };
}
