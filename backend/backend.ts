import type { Redis } from 'ioredis';
import type { Meter, Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { publishModels } from '../contracts/catalogue.js';
import { partitionKeys } from '../contracts/keys.js';
import { defineScripts, retire } from '../contracts/scripts/scripts.js';
import { letPastGo } from './claim.js';
import type { BackendConfig } from './config.js';
import {
  createConsumerState,
  startConsumer,
  type Consumer,
  type ConsumerDeps,
  type ConsumerState,
} from './consumer.js';
import { startHeartbeat, type Gauges } from './heartbeat.js';
import type { MemorySource } from './memory/memory-source.js';
import { startMemoryWatch, type WatchedMemory } from './memory/memory-watch.js';
import { createBackendMetrics } from './metrics.js';
import type { ServedModels } from './model/served-models.js';
import { ensureGroup } from './reader.js';
import { createRedisClock, type RedisClock } from './redis-clock.js';

/** Connections of one backend process, opened by whoever starts it. */
export interface BackendConnections {
  readonly client: Redis;
  /** Undefined where caching is off. */
  readonly cache: Redis | undefined;
  readonly connectBlocking: (model: string) => Promise<Redis>;
}

export interface BackendDeps {
  readonly config: BackendConfig;
  readonly connections: BackendConnections;
  readonly served: ServedModels;
  readonly tracer: Tracer;
  readonly meter: Meter;
  readonly log: Logger;
  readonly memorySource: MemorySource;
}

export interface Backend {
  readonly consumer: Consumer;
  readonly memory: WatchedMemory;
  /** Resolves when the process cannot get back under its memory: it is to be drained and replaced. */
  readonly outOfMemory: Promise<void>;
  /** Why it takes no work at the moment; empty when it does. */
  reasonsNotReady(): readonly string[];
  /** False when reads do not come to an end although Redis answers: only a restart can help. */
  isLive(): boolean;
  /** Stops reading, finishes what is held, retires. */
  drain(): Promise<void>;
}

/** Milliseconds within which a blocking read ends, even where its connection had to be opened anew. */
const longestReadMs = 20_000;

/** Silence of the stream, in milliseconds, after which a consumer no longer counts as reading. */
const longestSilenceMs = 10_000;

/** Puts the models into the catalogue, starts the consumer and tells the register that it lives. */
export async function startBackend(deps: BackendDeps): Promise<Backend> {
  const { config, served } = deps;
  const client = defineScripts(deps.connections.client);
  const redisClock = createRedisClock(client, () => performance.timeOrigin + performance.now());
  await redisClock.measure();
  await publishModels(
    client,
    served.models.map((model) => model.manifest),
  );

  for (const stream of streamsOf(served)) {
    await ensureGroup(client, stream);
    await letPastGo(client, stream, config.consumer);
  }

  const gauges: Gauges = { loads: [], memory: undefined };
  const giveUp = new AbortController();
  const own = consumerDeps(deps, client, redisClock, gauges);
  const state = createConsumerState(own, giveUp.signal);
  const { memory, outOfMemory } = watchMemory(deps, state);
  gauges.memory = memory;
  const { consumer: name } = config;
  const heartbeat = await startHeartbeat({
    ...{ client, redisClock, gauges, consumer: name, state },
    ...{ models: served.models, rated: served.rated, device: served.device },
  });
  // Last of all: whoever reads must be able to finish.
  const consumer = startConsumer(own, state, giveUp);
  let draining = false;
  return {
    ...{ consumer, memory, outOfMemory },
    isLive: () => !(heartbeat.reachesRedis && readingForMs(state) > longestReadMs),
    reasonsNotReady: () => [
      ...(draining ? ['draining'] : []),
      ...(state.failure === undefined ? [] : [`it cannot go on: ${messageOf(state.failure)}`]),
      ...(state.paused === undefined ? [] : [`reading is paused for want of ${state.paused}`]),
      ...sickModels(state).map((model) => `batches of ${model} fail`),
      ...(heartbeat.reachesRedis ? [] : ['Redis does not answer']),
      ...(redisClock.now() - consumer.state.lastReadAt > longestSilenceMs && consumer.state.leases.size === 0
        ? ['not reading']
        : []),
    ],
    drain: async () => {
      draining = true;
      await heartbeat.drain();
      await consumer.drain(config.drainMs);
      await retireEverywhere(deps, client);
      await heartbeat.stop();
      memory.stop();
    },
  };
}

/** From now on, when everything is loaded, memory is watched; while it is short nothing more is read. */
function watchMemory({ config, memorySource, log }: BackendDeps, state: ConsumerState) {
  let onReplace: () => void = () => undefined;
  const outOfMemory = new Promise<void>((resolve) => (onReplace = resolve));
  const memory = startMemoryWatch({
    ...{
      source: memorySource,
      onReplace: () => onReplace(),
      held: () => state.leases.size,
      now: () => performance.now(),
    },
    gate: { pauseAt: config.memoryPauseAt, resumeAt: config.memoryResumeAt, stuckMs: config.memoryStuckMs },
  });
  const apply = () => {
    state.paused = memory.paused ? 'memory' : undefined;
    for (const holding of state.holdings.values()) holding.roomChanged.notify();
  };
  apply();
  memory.onChange((level) => {
    log.warn({ source: memory.source, ...level }, memory.paused ? 'reading is paused for want of memory' : 'memory');
    apply();
  });
  return { memory, outOfMemory };
}

/** Milliseconds since the read began that has been under way for longest while Redis answered. */
function readingForMs({ holdings, steadySince }: ConsumerState): number {
  const since = [...holdings.values()].flatMap(({ readingSince }) => readingSince ?? []);
  return since.length > 0 ? performance.now() - Math.max(steadySince, Math.min(...since)) : 0;
}

function sickModels({ holdings }: ConsumerState): readonly string[] {
  return [...holdings].filter(([, { health }]) => health.sick).map(([model]) => model);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}

function consumerDeps(deps: BackendDeps, client: Redis, redisClock: RedisClock, gauges: Gauges): ConsumerDeps {
  const { config, served, connections, tracer, log } = deps;
  const metrics = createBackendMetrics(
    deps.meter,
    () => gauges.loads,
    () => gauges.memory?.level ?? { state: 'unknown', reason: 'starting' },
  );
  const { resultSeconds, cacheSeconds, deadSeconds, batchBytes, leaseMs, consumer } = config;
  return {
    ...{ consumer, client, redisClock, batchBytes, leaseMs, tracer, log, metrics },
    models: served.models,
    deviceLost: served.failed,
    connectBlocking: connections.connectBlocking,
    settle: {
      ...{ client, cache: connections.cache, resultSeconds, cacheSeconds, deadSeconds, metrics },
      random: Math.random,
      redisNow: () => redisClock.now(),
    },
    now: () => performance.now(),
    random: Math.random,
  };
}

function streamsOf(served: ServedModels): readonly string[] {
  return served.models.map((model) => partitionKeys(model.manifest.name).tasks('normal'));
}

async function retireEverywhere({ config, served, log }: BackendDeps, client: Redis): Promise<void> {
  for (const stream of streamsOf(served)) {
    const gone = await retire(client, stream, config.consumer).catch(() => false);
    if (!gone) log.warn({ stream }, 'entries are still held here; the consumer stays in the group for others to claim');
  }
}
