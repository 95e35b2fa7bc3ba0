import { availableParallelism } from 'node:os';
import { peoplePhotos } from '../../photos.js';
import { preparedModels } from '../../prepared-models.js';
import type { Bench, BenchOptions, Goal, Measured, Round } from '../bench.js';
import { withParties, type StartParty } from '../crossing/parties.js';
import { startSampan } from '../crossing/sides.js';
import { crossingColumns, imageBytes, measureStretch, warmUp } from '../crossing/turn.js';
import { startGenerator, type Generator } from '../http/start-generator.js';
import { interleaved, ratios, type Side } from '../rounds.js';
import { tracingOnePercent, withSurroundings, type Surroundings } from '../surroundings.js';
import { measureUploads, model, startWholePath, type Uploads } from './whole-path.js';

const names = {
  on: 'whole path, cache on',
  off: 'whole path, cache off',
  crossingOn: 'crossing alone, cache on',
  crossingOff: 'crossing alone, cache off',
};

/** What the cache costs where it never helps. */
export const unique: Bench = {
  name: 'unique',
  about:
    'Traffic in which no picture comes twice, with the cache asked and filled for each and without it: the whole ' +
    'path over HTTP with a real model and photos, and the crossing of 20 kB alone, without HTTP and inference.',
  run: (options) => withSurroundings((here) => withParties((startParty) => measure(here, startParty, options))),
};

async function measure(here: Surroundings, startParty: StartParty, options: BenchOptions): Promise<Measured> {
  const { rounds, quick, say } = options;
  const generator = startGenerator();
  try {
    const uploads: Uploads = { files: peoplePhotos.slice(0, 3), callers: 16, requests: quick ? 24 : 320 };
    const crossingSeconds = quick ? 0.5 : 3;
    const sides = [
      ...(await wholePaths(here, generator, uploads, say)),
      ...(await crossings(here, startParty, { quick, seconds: crossingSeconds, say })),
    ];
    const measured = await interleaved(sides, { rounds, warmUps: 0, say });
    return {
      ...{ rounds: measured, columns: [...crossingColumns], goals: goalsOf(measured), charts, remarks },
      settings: {
        ...{ model, photos: '145 to 221 kB, each time with eight other bytes behind the end' },
        ...{ callers: uploads.callers, requestsPerTurn: uploads.requests, cores: availableParallelism() },
        ...{ crossingBytes: imageBytes, crossingCallers: 64, crossingSeconds, tracing: '1 %' },
      },
    };
  } finally {
    await generator.stop();
  }
}

type Say = BenchOptions['say'];

async function wholePaths(here: Surroundings, generator: Generator, uploads: Uploads, say: Say): Promise<Side[]> {
  const modelDir = await preparedModels();
  const paths = [
    await startWholePath(here, { name: names.on, cache: true, modelDir }),
    await startWholePath(here, { name: names.off, cache: false, modelDir }),
  ];
  const sides = paths.map((path) => ({
    name: path.name,
    measure: () => measureUploads(generator, path, uploads),
  }));
  for (const side of [...sides, ...sides]) {
    say(`warming up ${side.name}`);
    await side.measure();
  }
  return sides;
}

async function crossings(
  here: Surroundings,
  startParty: StartParty,
  { quick, seconds, say }: { quick: boolean; seconds: number; say: Say },
): Promise<Side[]> {
  const tracing = tracingOnePercent(here.otlpUrl);
  const sides = [
    await startSampan(here, startParty, { name: names.crossingOn, cache: true, tracing }),
    await startSampan(here, startParty, { name: names.crossingOff, cache: false, tracing }),
  ];
  await warmUp(sides, { turns: quick ? 1 : 2, tasks: quick ? 500 : 20_000, say });
  return sides.map((side) => ({
    name: side.name,
    measure: () => measureStretch(side, { callers: 64, until: { seconds } }),
  }));
}

const charts: Measured['charts'] = [
  { name: 'cpu', title: 'CPU µs per task of edge, consumer and Redis', key: 'totalMicros' },
];

function goalsOf(rounds: readonly Round[]): Goal[] {
  return [
    {
      promise: 'whole path: with the cache on at most 1.03 × the CPU per task without it',
      perRound: ratios(rounds, 'totalMicros', names.on, names.off),
      bound: { atMost: 1.03 },
    },
  ];
}

const remarks = [
  'CPU is of edge, consumer and all Redis servers of a side: the stream role, and the cache role where the cache is on.',
  'The goal is on the whole path, which is what users have. The crossing alone is the worst case that there is: nothing is inferred, so a look-up, a write and a second server weigh the most they can.',
];
