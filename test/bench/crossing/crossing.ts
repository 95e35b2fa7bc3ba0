import type { Bench, BenchOptions, Goal, Measured, Round } from '../bench.js';
import { interleaved, ratios, type Side } from '../rounds.js';
import { spread } from '../statistics.js';
import { tracingOnePercent, withSurroundings, type Surroundings } from '../surroundings.js';
import { withParties, type StartParty } from './parties.js';
import { startBareLoop, startBullmq, startSameCommands, startSampan } from './sides.js';
import { sweepBullmq, tune, type Tried } from './sweep.js';
import { crossingColumns, imageBytes, measureStretch, warmUp } from './turn.js';

const manyCallers = 64;
const points = [manyCallers, 1];

/** The way across the stream and back, with no inference and no HTTP. */
export const crossing: Bench = {
  name: 'crossing',
  about:
    '20 kB tasks across the stream and back, no inference and no HTTP: ours with all its promises, a bare ' +
    'XADD/XREADGROUP loop that promises nothing, and BullMQ adding, processing and returning a job.',
  run: (options) => withSurroundings((here) => withParties((startParty) => measure(here, startParty, options))),
};

async function measure(here: Surroundings, startParty: StartParty, options: BenchOptions): Promise<Measured> {
  const { rounds, quick, say } = options;
  const tracing = tracingOnePercent(here.otlpUrl);
  const ours = await startSampan(here, startParty, { name: 'sampan', cache: false, tracing });
  const cached = await startSampan(here, startParty, { name: 'sampan, cache on', cache: true, tracing });
  const same = await startSameCommands(here, startParty);
  const bare = await startBareLoop(here, startParty);
  const bullmq = await startBullmq(here, startParty);
  const warmUpTasks = quick ? 500 : 20_000;
  await warmUp([ours, cached, same, bare, bullmq], { turns: quick ? 1 : 2, tasks: warmUpTasks, say });
  const seconds = quick ? 0.3 : 3;
  const turns: Side[] = [];
  const tried = new Map<number, readonly Tried[]>();
  for (const callers of points) {
    say(`trying BullMQ's settings with ${String(callers)} callers`);
    const all = await sweepBullmq(bullmq, callers, quick ? 0.1 : 0.7);
    tried.set(callers, all);
    const stretch = { callers, until: { seconds } };
    for (const side of [ours, cached, same, bare])
      turns.push({ name: side.name, point: callers, measure: () => measureStretch(side, stretch) });
    turns.push({
      ...{ name: bullmq.name, point: callers },
      measure: async () => {
        await tune(bullmq, all[0]);
        return measureStretch(bullmq, stretch);
      },
    });
  }
  const measured = await interleaved(turns, { rounds, warmUps: 0, say });
  return {
    ...{ rounds: measured, columns: [...crossingColumns], goals: goalsOf(measured), charts, remarks },
    settings: { secondsPerTurn: seconds, warmUpTasks, ...settingsOf(tried) },
  };
}

const charts: Measured['charts'] = [
  { name: 'rate', title: 'Tasks per second, 64 callers', key: 'tasksPerSecond', point: manyCallers },
  { name: 'cpu', title: 'CPU µs per task, 64 callers', key: 'totalMicros', point: manyCallers },
  { name: 'latency', title: 'p50 latency in ms, one caller', key: 'p50Ms', point: 1 },
];

function goalsOf(rounds: readonly Round[]): Goal[] {
  const ofOurs = (key: string, theirs: string, callers: number) => ratios(rounds, key, 'sampan', theirs, callers);
  return [
    {
      promise: 'with 64 callers at least 4 × the tasks/s of BullMQ',
      perRound: ofOurs('tasksPerSecond', 'BullMQ', manyCallers),
      bound: { atLeast: 4 },
      ...limitOf(ratios(rounds, 'tasksPerSecond', 'same commands', 'BullMQ', manyCallers), (ratio) => ratio < 4),
    },
    {
      promise: 'with one caller at most half the p50 latency of BullMQ',
      perRound: ofOurs('p50Ms', 'BullMQ', 1),
      bound: { atMost: 0.5 },
      ...limitOf(ratios(rounds, 'p50Ms', 'same commands', 'BullMQ', 1), (ratio) => ratio > 0.5),
    },
    {
      promise: 'with 64 callers at most 1.3 × the CPU per task of the bare loop',
      perRound: ofOurs('totalMicros', 'bare loop', manyCallers),
      bound: { atMost: 1.3 },
    },
  ];
}

/** Where our messages and scripts alone, with nothing around them, do not reach what is asked for. */
function limitOf(alone: readonly number[], misses: (ratio: number) => boolean): Pick<Goal, 'limit'> {
  const { median } = spread(alone);
  if (!misses(median)) return {};
  return {
    limit: `the messages and scripts that the promises need, sent by a program that does nothing else: ${median.toFixed(2)}`,
  };
}

/** With every setting of BullMQ that was tried, so that nobody has to believe that the best one was kept. */
function settingsOf(tried: ReadonlyMap<number, readonly Tried[]>): Measured['settings'] {
  const kept = [...tried].map(([callers, all]) => {
    const rates = all.map(
      ({ concurrency, results, tasksPerSecond }) => `${String(concurrency)} ${results} ${tasksPerSecond.toFixed(0)}/s`,
    );
    return [`BullMQ, ${String(callers)} callers (best kept)`, rates.join(', ')] as const;
  });
  return {
    ...{
      imageBytes,
      tracing: '1 % (ours)',
      BullMQ: 'removeOnComplete (the last 1000 stay for waitUntilFinished), no automatic pipelines (slower)',
    },
    redis: 'one server per side: noeviction, AOF everysec; cache: a second one, allkeys-lfu',
    ...Object.fromEntries(kept),
  };
}

const remarks = [
  'CPU is of the calling process (edge), the consumer, and all Redis servers of a side.',
  'Ours admits by count and bytes, coalesces equal work, enforces deadlines and leases, stores the result and ends a task once; metrics and 1 % of traces are on, and the log of the consumer.',
  'Same commands: the messages and scripts of ours, sent by a program that does nothing else: no checks, deadlines, leases, spans, metrics, log.',
  'The bare loop: XADD, XREADGROUP of up to 64, one MULTI of XACK and XDEL and one PUBLISH for each batch; it promises nothing and stores no result.',
  'BullMQ carries JSON, so a picture is base64 in the data of its job; its worker makes bytes of it again. Locks, stalled checks and its stream of events are as it sets them; its concurrency and the way to get results are swept for each number of callers, and the best is kept.',
  'Left out by all: HTTP, and hashing (our digests are made up). With the cache on each of our tasks also asks and fills a second server.',
];
