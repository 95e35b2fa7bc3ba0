import { setTimeout as sleep } from 'node:timers/promises';
import { readFileSync } from 'node:fs';
import { Redis } from 'ioredis';
import { partitionKeys } from '../../../contracts/keys.js';
import type { RunningRedis } from '../../../infra/setup/start-redis.js';
import type { Round } from '../bench.js';
import type { Generator } from '../http/start-generator.js';
import { residentBytesOf } from '../process-cpu.js';
import { interleaved } from '../rounds.js';
import { predictRequest, shippedEnv, startEdge, startSimulatedBackend, withLoad } from '../shipped-system.js';
import { withSurroundings, type Part, type Surroundings } from '../surroundings.js';
import { idleRounds } from './idle.js';
import { fillCache, lookups, measuredAt, predicts, type Asked } from './requests.js';
import { ends, flat, type SectionRun } from './section.js';
import { startStrangers, type Strangers } from './strangers.js';

const model = 'bench';
/** Has a consumer that lives and never reads. */
const heldModel = 'held';
const lookupSide = 'callers waiting: lookup';
const predictSide = 'callers waiting: predict';
const entries = 1000;

/** Requests at edges at which so many callers already wait for another model. */
export const waitingCallers: SectionRun = ({ rounds: count, quick, say }) =>
  withSurroundings(async (here) => {
    const sizes = fitting(quick ? [10, 1000] : [10, 100, 1000, 10_000]);
    const { stream, redis, edges, strangers } = await startSystem(here, sizes.length);
    try {
      return await withLoad(
        { bytes: 1000, generators: 1 + holdersFor(sizes) },
        async (file, [generator, ...holders]) => {
          const requests = quick ? 400 : 4000;
          const asked = edges.flatMap((edge, i) =>
            askedOf({ point: sizes[i] ?? 0, server: edge, redis, generator }, file, requests),
          );
          for (const { generator, server, load } of [...asked, ...asked])
            await generator.send({ ...load, origins: [server.url] });
          const held = await holdAll(sizes, edges, holders, { file, stream, say });
          const rounds = await interleaved(asked.map(measuredAt), { rounds: count, warmUps: 1, say });
          const idle = edges.map((edge, i) => ({ point: sizes[i] ?? 0, edge: edge.pid }));
          const idling = await idleRounds('callers waiting: nothing else asked', quick ? 2 : 8, idle);
          return {
            rounds: [
              ...rounds,
              ...idling.map((round) => ({ ...round, values: { ...round.values, ...held.get(round.point) } })),
            ],
            goals: [lookupSide, predictSide].map((side) =>
              flat(rounds, { side, key: 'server', what: "edge's CPU per request", ...ends(sizes) }),
            ),
            settings: { waitingRequestsEach: requests, SAMPAN_MAX_TASKS: mostTasks, SAMPAN_MAX_TIMEOUT_MS: holdMs },
            remarks: [
              'callers waiting: an edge for each size, one stream; the callers hold connections and tasks of 1 kB of a model whose consumer lives and never reads; memory is what the edge’s resident size grew by, per caller',
            ],
          };
        },
      );
    } finally {
      await strangers.stop();
      for (const client of redis) client.disconnect();
    }
  });

const holdMs = 3_600_000;
const mostTasks = 100_000;

interface System {
  readonly stream: RunningRedis;
  readonly redis: readonly Redis[];
  readonly edges: readonly Part[];
  readonly strangers: Strangers;
}

async function startSystem(here: Surroundings, edgeCount: number): Promise<System> {
  const [stream, cache] = [await here.redis('stream'), await here.redis('cache')];
  const env = shippedEnv(here, stream, cache);
  const strangers = await startStrangers(stream.url, [heldModel]);
  await fillCache(cache.url, model, entries);
  await startSimulatedBackend(here, env, { models: [model] });
  const limits = { SAMPAN_MAX_TASKS: String(mostTasks), SAMPAN_MAX_TIMEOUT_MS: String(holdMs) };
  const edges: Part[] = [];
  while (edges.length < edgeCount) edges.push(await startEdge(here, { ...env, ...limits }));
  return { stream, edges, strangers, redis: [new Redis(stream.url), new Redis(cache.url)] };
}

function askedOf(to: Omit<Asked, 'name' | 'load'>, file: string, requests: number): readonly Asked[] {
  return [
    { ...to, name: lookupSide, load: lookups(model, entries, requests) },
    { ...to, name: predictSide, load: predicts(predictRequest(model), file, Math.ceil(requests / 2)) },
  ];
}

/** Callers that begin to wait together: more connections at once than a server keeps in its queue would be reset. */
const together = 250;
/** Commands that one generator holds at a time. */
const perHolder = 8;

const holdersFor = (sizes: readonly number[]) =>
  Math.ceil(sizes.reduce((sum, size) => sum + Math.ceil(size / together), 0) / perHolder);

interface Holding {
  readonly file: string;
  readonly stream: RunningRedis;
  readonly say: (what: string) => void;
}

/** Has callers wait at each edge until their generators stop. @returns by size, what each takes of its edge's memory */
async function holdAll(
  sizes: readonly number[],
  edges: readonly Part[],
  holders: readonly Generator[],
  { file, stream, say }: Holding,
): Promise<ReadonlyMap<number | undefined, Round['values']>> {
  const client = new Redis(stream.url);
  const held = new Map<number | undefined, Round['values']>();
  let [waiting, commands] = [0, 0];
  for (const [i, size] of sizes.entries()) {
    say(`${String(size)} callers begin to wait`);
    const edge = edges[i];
    if (!edge) throw new Error('an edge is missing');
    const before = residentBytesOf(edge.pid);
    for (let left = size; left > 0; left -= together) {
      const callers = Math.min(together, left);
      hold(holders[Math.floor(commands++ / perHolder)], edge, file, callers);
      waiting += callers;
      await untilBacklog(client, waiting);
    }
    const grown = residentBytesOf(edge.pid) - before;
    // Of few callers what they take cannot be told from what else changes.
    held.set(size, size >= 1000 ? { callerKiB: grown / size / 1024 } : {});
  }
  client.disconnect();
  return held;
}

function hold(holder: Generator | undefined, edge: Part, file: string, callers: number): void {
  const { headers, ...request } = predictRequest(heldModel);
  const answered = holder?.send({
    ...{ ...request, headers: { ...headers, 'x-timeout-ms': String(holdMs) }, origins: [edge.url], files: [file] },
    ...{ unique: true, pace: { kind: 'closed', callers, requests: callers } },
  });
  // It ends when the generator is stopped, unanswered.
  answered?.catch(() => undefined);
}

async function untilBacklog(client: Redis, tasks: number): Promise<void> {
  const stream = partitionKeys(heldModel).tasks('normal');
  for (const until = Date.now() + 30_000; Date.now() < until;) {
    if ((await client.xlen(stream)) === tasks) return;
    await sleep(10);
  }
  throw new Error(`${String(await client.xlen(stream))} callers wait, and not ${String(tasks)}`);
}

/** Leaves out what this process's children may not open sockets for. */
function fitting(sizes: readonly number[]): readonly number[] {
  const most = Number(/^Max open files\s+\d+\s+(\d+)/m.exec(readFileSync('/proc/self/limits', 'utf8'))?.[1] ?? 0);
  return sizes.filter((size) => size + 200 <= most);
}
