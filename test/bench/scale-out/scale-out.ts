import { setTimeout as sleep } from 'node:timers/promises';
import { cpus } from 'node:os';
import { Redis } from 'ioredis';
import type { Bench, BenchOptions, Round } from '../bench.js';
import { fillCache, lookups } from '../growth/requests.js';
import type { HttpLoad } from '../http/load.js';
import type { Generator } from '../http/start-generator.js';
import { cpuDuring } from '../process-cpu.js';
import { interleaved, type Side } from '../rounds.js';
import { spread } from '../statistics.js';
import { withSurroundings, type Part, type Surroundings } from '../surroundings.js';
import { consumersSide, edgesSide, linearGoals, lookupsSide, withShares } from './linear.js';
import { predictRequest, shippedEnv, startEdge, startSimulatedBackend, withLoad } from '../shipped-system.js';
import { nextDone } from './tasks-done.js';

/** A run of eight images takes 80 ms, as many as one consumer does 100 images a second. */
const device = { baseMs: 80, maxBatch: 8 } as const;
const perConsumer = (device.maxBatch * 1000) / device.baseMs;
/** Four batches for each consumer: one on the device, the others on their way. */
const callersPerConsumer = 4 * device.maxBatch;
const consumerCounts = [1, 2, 4, 8, 16];
const edgeCounts = [1, 2, 4];
/** Consumers that the edges share. */
const behindEdges = 8;
const lookupCallers = 64;
const entries = 1000;

export const scaleOut: Bench = {
  name: 'scale-out',
  about:
    'From 1 to 16 consumers of a simulated device (8 images in 80 ms) on one stream behind one edge, and 1, 2, 4 edges ' +
    'before 8 consumers: tasks per second beside n times those of one, pictures of 20 kB; and lookups by 1, 2, 4 edges.',
  run: (options) =>
    withLoad({ bytes: 20_000, generators: 1 }, (file, [generator]) =>
      withSurroundings(async (here) => {
        options.say('starting');
        const system = await startSystem(here, options.quick);
        try {
          const run: Run = { ...system, file, generator, options };
          const counts = consumerCounts.filter((count) => count <= system.consumers.length);
          const sides = [
            ...counts.map((count) => predicting(run, consumersSide, { consumers: count, edges: 1, point: count })),
            ...edgeCounts.map((count) => {
              return predicting(run, edgesSide, {
                consumers: Math.min(behindEdges, counts.at(-1) ?? 1),
                edges: count,
                point: count,
              });
            }),
            ...edgeCounts.map((count) => lookingUp(run, count)),
          ];
          const rounds = await interleaved(sides, {
            rounds: options.rounds,
            warmUps: options.quick ? 0 : 1,
            say: options.say,
          });
          return { ...described(withShares(rounds)), remarks: await remarksOf(run) };
        } finally {
          system.stream.disconnect();
        }
      }),
    ),
};

interface System {
  /** The first serves the models of all sizes, the last only that of the largest. */
  readonly consumers: readonly Part[];
  readonly edges: readonly Part[];
  readonly redis: { readonly stream: number; readonly cache: number };
  readonly stream: Redis;
  /** CPU of one consumer alone that nobody asks anything, ms per second. */
  readonly idleAlone: number;
}

interface Run extends System {
  readonly file: string;
  readonly generator: Generator;
  readonly options: BenchOptions;
}

const modelFor = (consumers: number) => `served-by-${String(consumers)}`;

async function startSystem(here: Surroundings, quick: boolean): Promise<System> {
  const [stream, cache] = [await here.redis('stream'), await here.redis('cache')];
  const env = shippedEnv(here, stream, cache);
  const counts = quick ? consumerCounts.slice(0, 3) : consumerCounts;
  const consumers: Part[] = [];
  let idleAlone = 0;
  for (let i = 0; i < (counts.at(-1) ?? 1); i++) {
    const models = counts.filter((count) => count > i).map(modelFor);
    const consumer = await startSimulatedBackend(here, env, { models, ...device });
    consumers.push(consumer);
    if (i === 0) idleAlone = await idleMillis(consumer.pid, quick);
  }
  const edges: Part[] = [];
  while (edges.length < Math.max(...edgeCounts)) edges.push(await startEdge(here, env));
  await fillCache(cache.url, modelFor(1), entries);
  return {
    consumers,
    edges,
    idleAlone,
    redis: { stream: stream.pid, cache: cache.pid },
    stream: new Redis(stream.url),
  };
}

/** The median of short spells, not at once: a start has things to do behind it, and neighbours of the machine come and go. */
async function idleMillis(pid: number, quick: boolean): Promise<number> {
  const spell = { count: quick ? 1 : 5, ms: quick ? 1000 : 2000 };
  await sleep(quick ? 500 : 3000);
  const perSecond: number[] = [];
  while (perSecond.length < spell.count) {
    const { micros } = await cpuDuring({ idle: pid }, () => sleep(spell.ms));
    perSecond.push((micros['idle'] ?? 0) / spell.ms);
  }
  return spread(perSecond).median;
}

/** Milliseconds until a load has become steady, of what is measured, and for which the load goes on behind that. */
const timesOf = (quick: boolean) =>
  quick ? { before: 300, measured: 500, behind: 300 } : { before: 700, measured: 2500, behind: 300 };

/** Tasks per second in the midst of a closed load, by the stream's own account, and who was busy meanwhile. */
function predicting(run: Run, name: string, how: { consumers: number; edges: number; point: number }): Side {
  const { generator, edges, stream, options, file } = run;
  const { before, measured, behind } = timesOf(options.quick);
  const model = modelFor(how.consumers);
  const requests = Math.ceil(((before + measured + behind) / 1000) * perConsumer * how.consumers);
  const load: HttpLoad = {
    ...{
      ...predictRequest(model),
      origins: edges.slice(0, how.edges).map(({ url }) => url),
      files: [file],
      unique: true,
    },
    pace: { kind: 'closed', callers: callersPerConsumer * how.consumers, requests },
  };
  const measure = async () => {
    const sent = generator.send(load);
    await Promise.race([sleep(before), sent]);
    const first = await nextDone(stream, model);
    const busy = await busyDuring(run, () => sleep(measured));
    const last = await nextDone(stream, model);
    const perSecond = ((last.tasks - first.tasks) * 1000) / (last.at - first.at);
    const { p50Ms, statuses } = await sent;
    return { perSecond, p50Ms, refused: requests - (statuses['200'] ?? 0), ...busy };
  };
  return { name, point: how.point, measure };
}

function lookingUp(run: Run, edgeCount: number): Side {
  const requests = run.options.quick ? 2000 : 24_000;
  const { paths } = lookups(modelFor(1), entries, requests);
  const load: HttpLoad = {
    ...{ paths, origins: run.edges.slice(0, edgeCount).map(({ url }) => url) },
    pace: { kind: 'closed', callers: lookupCallers, requests },
  };
  const measure = async () => {
    const reports: Awaited<ReturnType<Generator['send']>>[] = [];
    const busy = await busyDuring(run, async () => reports.push(await run.generator.send(load)));
    const [report] = reports;
    if (!report) throw new Error('the generator gave no report');
    const { p50Ms, statuses, seconds } = report;
    return { perSecond: requests / seconds, p50Ms, refused: requests - (statuses['200'] ?? 0), ...busy };
  };
  return { name: lookupsSide, point: edgeCount, measure };
}

/** Cores' worth of CPU that each kind of process took during some work; and the share of all cores that was not idle. */
async function busyDuring(run: Run, work: () => Promise<unknown>): Promise<Record<string, number>> {
  const pids = {
    edges: run.edges.map(({ pid }) => pid),
    consumers: run.consumers.map(({ pid }) => pid),
    redis: run.redis.stream,
    others: [run.redis.cache, run.generator.pid, process.pid],
  };
  const [startedAt, idleBefore] = [performance.now(), idleCoreMs()];
  const { micros } = await cpuDuring(pids, work);
  const wallMs = performance.now() - startedAt;
  const shares = Object.entries(micros).map(([name, used]) => [name, used / 1000 / wallMs] as const);
  const machine = 1 - (idleCoreMs() - idleBefore) / (wallMs * cpus().length);
  return { ...Object.fromEntries(shares), machine };
}

/** Milliseconds that all cores together have been idle since the machine's start. */
const idleCoreMs = () => cpus().reduce((sum, { times }) => sum + times.idle, 0);

function described(rounds: readonly Round[]) {
  return {
    rounds: [...rounds],
    columns: [
      { key: 'perSecond', label: 'tasks or lookups/s', digits: 0 },
      { key: 'linear', label: 'of linear', digits: 2 },
      { key: 'p50Ms', label: 'p50 ms', digits: 1 },
      { key: 'edges', label: 'edges, cores', digits: 2 },
      { key: 'consumers', label: 'consumers, cores', digits: 2 },
      { key: 'redis', label: 'redis busy', digits: 2 },
      { key: 'others', label: 'cache, generator, bench, cores', digits: 2 },
      { key: 'machine', label: 'machine busy', digits: 2 },
      { key: 'refused', label: 'not answered with 200', digits: 0 },
    ],
    goals: linearGoals(rounds),
    charts: [
      { name: 'rate', title: 'Tasks per second', key: 'tasksPerSecond', axis: 'consumers, or edges' },
      { name: 'busy', title: 'Share of all cores that was busy', key: 'machine', axis: 'consumers, or edges' },
    ],
    settings: {
      ...{ device: JSON.stringify(device), callersPerConsumer, consumersBehindEdges: behindEdges, lookupCallers },
      ...{ pictureBytes: 20_000, cores: cpus().length },
    },
  };
}

async function remarksOf({ consumers, idleAlone, options }: Run): Promise<string[]> {
  const pids = consumers.map(({ pid }) => pid);
  const seconds = options.quick ? 1 : 5;
  const { micros } = await cpuDuring({ idle: pids }, () => sleep(seconds * 1000));
  const each = (micros['idle'] ?? 0) / 1000 / seconds / pids.length;
  return [
    'at: consumers behind one edge, or edges; redis busy: of one core, which is all that the stream’s server can use; machine busy: the part of all cores that was not idle, whoever used it',
    'all consumers live all the time, those that are not counted serve other models; tasks are counted in the stream, in the midst of the load, so that its start and end do not count',
    `idle: ${idleAlone.toFixed(1)} ms of CPU a second for a consumer that is alone, ${each.toFixed(1)} for each of ${String(pids.length)} that know of each other`,
  ];
}
