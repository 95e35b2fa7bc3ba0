import { availableParallelism } from 'node:os';
import { preparedModels } from '../../prepared-models.js';
import type { Bench, BenchOptions, Measured, Round } from '../bench.js';
import { startGenerator, type Generator } from '../http/start-generator.js';
import { cpuDuring } from '../process-cpu.js';
import { figures, interleaved, type Side } from '../rounds.js';
import { withSurroundings } from '../surroundings.js';
import { photoSize, withBenchPhotos } from '../whole-path/bench-photos.js';
import { ask, loopOf, oursOf, type Material, type Server } from '../whole-path/parties.js';
import type { BareLoop } from '../whole-path/start-loop.js';

const [ours, alone] = ['ours, over HTTP', 'decode + inference alone'];

/** Images of a round. */
const fullSize = 200;
const quickSize = 40;

export const latency: Bench = {
  name: 'latency',
  about:
    'One caller at a time: a photo through edge, Redis and backend and back, beside the same decoding and the same ' +
    'session in one process, one photo after the other.',
  run: async (options) => {
    const modelDir = await preparedModels();
    return withBenchPhotos((files) => measureLatency({ modelDir, model: 'nsfw', version: '', files }, options));
  },
};

async function measureLatency(material: Material, { rounds, quick, say }: BenchOptions): Promise<Measured> {
  const layout = { sessions: 1, threads: availableParallelism() };
  const images = quick ? quickSize : fullSize;
  const generator = startGenerator();
  try {
    return await withSurroundings(async (here) => {
      const server = await oursOf(here, material, layout);
      const loop = await loopOf(here, material, layout);
      const sides = [httpSide(generator, server, material.files, images), loopSide(loop, images)];
      const measured = await interleaved(sides, { rounds, warmUps: quick ? 1 : 2, say });
      return reportOf(measured, { images, threads: layout.threads, files: material.files.length });
    });
  } finally {
    await generator.stop();
  }
}

function httpSide(generator: Generator, server: Server, files: readonly string[], images: number): Side {
  return {
    name: ours,
    measure: async () => {
      const pace = { kind: 'closed', callers: 1, requests: images } as const;
      const { report, micros } = await ask(generator, server, files, { pace });
      const answered = report.statuses['200'] ?? 0;
      if (answered < images) throw new Error(`not all were answered: ${JSON.stringify(report.statuses)}`);
      const cpu = Object.values(micros).reduce((sum, one) => sum + one, 0);
      return { p50Ms: report.p50Ms, p99Ms: report.p99Ms, cpuMs: cpu / 1000 / images };
    },
  };
}

function loopSide(loop: BareLoop, images: number): Side {
  return {
    name: alone,
    measure: async () => {
      const { result, micros } = await cpuDuring({ loop: loop.pid }, () => loop.run({ what: 'one-by-one', images }));
      const { p50Ms = Number.NaN, p99Ms = Number.NaN } = result;
      return { p50Ms, p99Ms, cpuMs: (micros['loop'] ?? 0) / 1000 / images };
    },
  };
}

function reportOf(rounds: Round[], settings: Measured['settings']): Measured {
  const least = figures(rounds, alone, 'p50Ms');
  const more = figures(rounds, ours, 'p50Ms').map((ms, i) => ms - (least[i] ?? Number.NaN));
  return {
    rounds,
    columns: [
      { key: 'p50Ms', label: 'p50 ms', digits: 2 },
      { key: 'p99Ms', label: 'p99 ms', digits: 2 },
      { key: 'cpuMs', label: 'CPU ms per image', digits: 2 },
    ],
    goals: [{ promise: 'at most 2 ms more at p50', perRound: more, bound: { atMost: 2 } }],
    charts: [{ name: 'p50', title: 'One caller: median latency in ms', key: 'p50Ms' }],
    settings: { ...settings, ...photoSize },
    remarks: [
      'Alone means in one process: no body is received, hashed or stored, and no answer is sent; the session is in its worker thread, as in the backend.',
    ],
  };
}
