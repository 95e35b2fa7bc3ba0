import { availableParallelism } from 'node:os';
import { preparedModels } from '../../prepared-models.js';
import type { Bench, BenchOptions, Measured, Round } from '../bench.js';
import { startGenerator, type Generator } from '../http/start-generator.js';
import { cpuDuring } from '../process-cpu.js';
import { figures, interleaved, type Side } from '../rounds.js';
import { spread } from '../statistics.js';
import { withSurroundings, type Surroundings } from '../surroundings.js';
import { photoSize, withBenchPhotos } from '../whole-path/bench-photos.js';
import type { Layout } from '../whole-path/layouts.js';
import { ask, loopOf, oursOf, type Material, type Server } from '../whole-path/parties.js';
import type { BareLoop } from '../whole-path/start-loop.js';

const [ours, barePath, alone] = ['ours, over HTTP', 'the least across HTTP and Redis', 'decode + inference alone'];

/** Images of a round. */
const fullSize = 200;
const quickSize = 40;

export const latency: Bench = {
  name: 'latency',
  about:
    'One caller at a time: a photo through edge, Redis and backend and back, beside the same decoding and the same ' +
    'session in one process, one photo after the other; and beside the least that crosses the same processes.',
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
      const least = await barePathOf(here, material, layout);
      const over = (name: string, answering: Server) =>
        httpSide(name, { generator, server: answering, files: material.files, images });
      const sides = [over(ours, server), over(barePath, least), loopSide(loop, images)];
      const measured = await interleaved(sides, { rounds, warmUps: quick ? 1 : 6, say });
      return reportOf(measured, { images, threads: layout.threads, files: material.files.length });
    });
  } finally {
    await generator.stop();
  }
}

/** Edge and worker of the bare path, with Redis servers of their own. */
async function barePathOf(here: Surroundings, { modelDir, model }: Material, { threads }: Layout): Promise<Server> {
  const [stream, cache] = [await here.redis('stream'), await here.redis('cache')];
  const start = (role: string) =>
    here.start('test/bench/latency/bare-path.js', {}, [
      ...[role, stream.url, cache.url, JSON.stringify({ modelDir, model, threads })],
    ]);
  const [worker, edge] = [await start('worker'), await start('edge')];
  return {
    ...{ origins: [edge.url], path: '/' },
    pids: { edge: [edge.pid], worker: [worker.pid], redis: [stream.pid, cache.pid] },
  };
}

interface HttpMaterial {
  readonly generator: Generator;
  readonly server: Server;
  readonly files: readonly string[];
  readonly images: number;
}

function httpSide(name: string, { generator, server, files, images }: HttpMaterial): Side {
  return {
    name,
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
  const beyond = (name: string) => figures(rounds, name, 'p50Ms').map((ms, i) => ms - (least[i] ?? Number.NaN));
  const crossed = spread(beyond(barePath));
  const limit =
    crossed.median > 2 ? { limit: `the least that crosses HTTP and Redis: ${crossed.median.toFixed(2)}` } : {};
  return {
    rounds,
    columns: [
      { key: 'p50Ms', label: 'p50 ms', digits: 2 },
      { key: 'p99Ms', label: 'p99 ms', digits: 2 },
      { key: 'cpuMs', label: 'CPU ms per image', digits: 2 },
    ],
    goals: [{ promise: 'at most 2 ms more at p50', perRound: beyond(ours), bound: { atMost: 2 }, ...limit }],
    charts: [{ name: 'p50', title: 'One caller: median latency in ms', key: 'p50Ms' }],
    settings: { ...settings, ...photoSize },
    remarks: [
      `Of the difference, the least that crosses HTTP and Redis takes ${crossed.median.toFixed(2)} ms (${crossed.least.toFixed(2)}–${crossed.most.toFixed(2)}): two processes more, a photo sent three times, and none of our promises.`,
      'Alone means in one process: no body is received, hashed or stored, and no answer is sent; the session is in its worker thread, as in the backend.',
    ],
  };
}
