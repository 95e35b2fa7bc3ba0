import type { RunningRedis } from '../../../infra/setup/start-redis.js';
import type { Surroundings } from '../surroundings.js';
import type { Party, StartParty } from './parties.js';

/** One way of carrying tasks: who calls, and whose CPU it takes. */
export interface CrossingSide {
  readonly name: string;
  readonly caller: Party;
  readonly pids: Readonly<Record<'edge' | 'consumer' | 'redis', number | readonly number[]>>;
}

export interface SampanOptions {
  readonly name: string;
  /** Whether each task asks the cache first and is remembered in it, as shipped. */
  readonly cache: boolean;
  /** Variables of OpenTelemetry's, for both processes. */
  readonly tracing: Readonly<Record<string, string>>;
}

/** Ours, without HTTP: the edge's crossing, and the shipped backend with a device that costs nothing. */
export async function startSampan(
  here: Surroundings,
  startParty: StartParty,
  { name, cache, tracing }: SampanOptions,
): Promise<CrossingSide> {
  const stream = await here.redis('stream');
  const cacheServer = cache ? await here.redis('cache') : undefined;
  const backend = await here.start('backend/main.js', {
    ...{ ...tracing, REDIS_URL: stream.url, HEALTH_PORT: '0', METRICS_PORT: '0' },
    ...{
      SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: ['bench'], maxBatch: 64 }),
      SAMPAN_CACHE: cache ? 'on' : 'off',
    },
    ...(cacheServer ? { CACHE_REDIS_URL: cacheServer.url } : {}),
  });
  const caller = await startParty('./caller.js', [stream.url, cacheServer?.url ?? ''], tracing);
  const redis = [stream, ...(cacheServer ? [cacheServer] : [])].map(({ pid }) => pid);
  return { name, caller, pids: { edge: caller.pid, consumer: backend.pid, redis } };
}

export async function startBareLoop(here: Surroundings, startParty: StartParty): Promise<CrossingSide> {
  return startPair(await here.redis('stream'), 'bare loop', {
    caller: (url) => startParty('./bare.js', ['caller', url]),
    worker: (url) => startParty('./bare.js', ['worker', url]),
  });
}

/** The messages and scripts of ours, and nothing around them. */
export async function startSameCommands(here: Surroundings, startParty: StartParty): Promise<CrossingSide> {
  return startPair(await here.redis('stream'), 'same commands', {
    caller: (url) => startParty('./same-commands.js', ['caller', url]),
    worker: (url) => startParty('./same-commands.js', ['worker', url]),
  });
}

export interface SideWithWorker extends CrossingSide {
  readonly worker: Party;
}

export async function startBullmq(here: Surroundings, startParty: StartParty): Promise<SideWithWorker> {
  return startPair(await here.redis('stream'), 'BullMQ', {
    caller: (url) => startParty('./bullmq-caller.js', [url]),
    worker: (url) => startParty('./bullmq-worker.js', [url]),
  });
}

type StartAt = (url: string) => Promise<Party>;

async function startPair(
  { url, pid }: RunningRedis,
  name: string,
  start: { readonly caller: StartAt; readonly worker: StartAt },
): Promise<SideWithWorker> {
  const worker = await start.worker(url);
  const caller = await start.caller(url);
  return { name, caller, worker, pids: { edge: caller.pid, consumer: worker.pid, redis: pid } };
}
