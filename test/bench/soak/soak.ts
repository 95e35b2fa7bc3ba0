import { Redis } from 'ioredis';
import { VoidRun, type Bench, type BenchOptions, type Goal, type Round } from '../bench.js';
import type { Generator } from '../http/start-generator.js';
import type { HttpReport } from '../http/load.js';
import { residentBytesOf } from '../process-cpu.js';
import {
  predictRequest,
  shippedEnv,
  startEdge,
  startSimulatedBackend,
  withLoad,
  type SimulatedDevice,
} from '../shipped-system.js';
import { withSurroundings, type Part, type Surroundings } from '../surroundings.js';
import { lastOverSecond } from './quarters.js';

const model = 'bench';
/** 100 ms for a full batch: 320 images a second. */
const device = { models: [model], baseMs: 20, perImageMs: 2.5, maxBatch: 32 } satisfies SimulatedDevice;
const capacity = 320;
const load = 0.7;
/** Of all requests, those that ask again for what was answered before. */
const repeated = 0.2;
/** The cache is full within the first quarter, so that evicting is part of what is measured. */
const cacheBytes = 32 * 1024 * 1024;

export const soak: Bench = {
  name: 'soak',
  about:
    'Half an hour at 70 % of a simulated device through the shipped edge and backend over HTTP, pictures of 20 kB, one ' +
    'request in five a repeat: whether memory and latency of the last quarter are those of the second.',
  run: (options) =>
    withLoad({ bytes: 20_000, generators: 2 }, (file, [misses, hits = misses]) =>
      withSurroundings(async (here) => {
        const system = await startSystem(here);
        try {
          const { stretches, seconds } = sizesOf(options);
          await rememberPicture(system, hits, file);
          const samples: Sample[] = [];
          for (let i = 0; i < stretches; i++) {
            options.say(`stretch ${String(i + 1)} of ${String(stretches)}`);
            const [missed, hit] = await loadBoth(system, { misses, hits, file, seconds, seed: i });
            samples.push({ ...(await memoryOf(system)), misses: latency(missed), hits: latency(hit) });
          }
          return measured(samples, seconds);
        } finally {
          for (const client of [system.stream, system.cache]) client.disconnect();
        }
      }),
    ),
};

interface System {
  readonly edge: Part;
  readonly backend: Part;
  readonly stream: Redis;
  readonly cache: Redis;
}

/** Values of one stretch, by side. */
type Sample = Readonly<Record<string, Readonly<Record<string, number>>>>;

const sizesOf = ({ quick, soakMinutes }: BenchOptions) =>
  quick ? { stretches: 20, seconds: 1 } : { stretches: 6 * soakMinutes, seconds: 10 };

async function startSystem(here: Surroundings): Promise<System> {
  const stream = await here.redis('stream');
  const cache = await here.redis('cache', { extra: ['--maxmemory', String(cacheBytes)] });
  const env = shippedEnv(here, stream, cache);
  const backend = await startSimulatedBackend(here, env, device);
  return { backend, edge: await startEdge(here, env), stream: new Redis(stream.url), cache: new Redis(cache.url) };
}

/** The picture that is asked for again is in the cache before the soak begins. */
async function rememberPicture({ edge, cache }: System, generator: Generator, file: string): Promise<void> {
  const once = { kind: 'closed', callers: 1, requests: 1 } as const;
  await generator.send({ ...predictRequest(model), origins: [edge.url], files: [file], pace: once });
  while ((await cache.dbsize()) === 0) await new Promise(setImmediate);
}

interface BothLoads {
  readonly misses: Generator;
  readonly hits: Generator;
  readonly file: string;
  readonly seconds: number;
  readonly seed: number;
}

function loadBoth({ edge }: System, { misses, hits, file, seconds, seed }: BothLoads): Promise<HttpReport[]> {
  const missesPerSecond = capacity * load;
  const hitsPerSecond = (missesPerSecond * repeated) / (1 - repeated);
  const request = { ...predictRequest(model), origins: [edge.url], files: [file] };
  const pace = (perSecond: number, own: number) => ({ kind: 'open' as const, perSecond, seconds, seed: own });
  return Promise.all([
    misses.send({ ...request, unique: true, pace: pace(missesPerSecond, 2 * seed) }),
    hits.send({ ...request, pace: pace(hitsPerSecond, 2 * seed + 1) }),
  ]);
}

const latency = (report: HttpReport | undefined) => ({
  p50Ms: answered(report?.p50Ms),
  p99Ms: answered(report?.p99Ms),
  requests: report?.requests ?? 0,
  refused: (report?.requests ?? 0) - (report?.statuses['200'] ?? 0),
});

/** A stretch in which nothing was answered has no latency; its figures must not count as any. */
function answered(ms = -1): number {
  if (ms < 0) throw new VoidRun('a stretch of the soak was not answered at all');
  return ms;
}

async function memoryOf({ edge, backend, stream, cache }: System): Promise<Sample> {
  const mebibytes = (bytes: number) => ({ memoryMiB: bytes / 2 ** 20 });
  return {
    edge: mebibytes(residentBytesOf(edge.pid)),
    backend: mebibytes(residentBytesOf(backend.pid)),
    'stream Redis': mebibytes(await usedMemory(stream)),
    'cache Redis': mebibytes(await usedMemory(cache)),
  };
}

async function usedMemory(redis: Redis): Promise<number> {
  return Number(/^used_memory:(\d+)/m.exec(await redis.info('memory'))?.[1]);
}

/** A tenth of the time is a row of the table. */
const rows = 10;

function measured(samples: readonly Sample[], seconds: number) {
  const perRow = Math.ceil(samples.length / rows);
  const rounds = samples.flatMap((sample, i) => {
    const point = Number(((Math.floor(i / perRow) * perRow * seconds) / 60).toFixed(2));
    return Object.entries(sample).map(([side, values]): Round => ({ side, point, round: i % perRow, values }));
  });
  const ordered = [...rounds].sort((a, b) => (a.side < b.side ? -1 : a.side > b.side ? 1 : 0));
  return {
    rounds: ordered,
    columns: [
      { key: 'memoryMiB', label: 'memory MiB', digits: 1 },
      { key: 'p50Ms', label: 'p50 ms', digits: 1 },
      { key: 'p99Ms', label: 'p99 ms', digits: 1 },
      { key: 'refused', label: 'not answered with 200', digits: 0 },
    ],
    goals: goalsOf(samples),
    charts: [
      { name: 'memory', title: 'Memory in MiB', key: 'memoryMiB', axis: 'minutes since the start' },
      { name: 'p99', title: 'p99 in ms', key: 'p99Ms', axis: 'minutes since the start' },
    ],
    settings: {
      ...{ stretches: samples.length, secondsEach: seconds, missesPerSecond: capacity * load, pictureBytes: 20_000 },
      ...{ repeats: repeated, device: JSON.stringify(device), cacheMaxmemory: cacheBytes },
    },
    remarks: [
      `at: minutes since the start; each figure is of a stretch of ${String(seconds)} s, the row of ${String(perRow)}`,
      'memory: resident of the two processes, used_memory of the two servers; there are no rounds, since time is what is measured',
    ],
  };
}

function refusedShare(samples: readonly Sample[]): number {
  const sum = (key: string) =>
    samples.reduce((total, { misses, hits }) => total + (misses?.[key] ?? 0) + (hits?.[key] ?? 0), 0);
  return sum('refused') / sum('requests');
}

function goalsOf(samples: readonly Sample[]): Goal[] {
  const goal = (side: string, key: string, what: string): Goal => ({
    promise: `${what} of the last quarter at most 1.1 × that of the second, ${side}`,
    perRound: [lastOverSecond(samples.map((sample) => sample[side]?.[key] ?? Number.NaN))],
    bound: { atMost: 1.1 },
  });
  return [
    ...['edge', 'backend', 'stream Redis', 'cache Redis'].map((side) => goal(side, 'memoryMiB', 'memory')),
    ...['misses', 'hits'].map((side) => goal(side, 'p99Ms', 'p99')),
    {
      promise: 'of all requests at most 1 % not answered with 200',
      perRound: [refusedShare(samples)],
      bound: { atMost: 0.01 },
    },
  ];
}
