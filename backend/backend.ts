import type { Redis } from 'ioredis';
import type { Meter, Tracer } from '@opentelemetry/api';
import type { Logger } from 'pino';
import { publishModels } from '../contracts/catalogue.js';
import { partitionKeys } from '../contracts/keys.js';
import { defineScripts, retire } from '../contracts/scripts/scripts.js';
import type { BackendConfig } from './config.js';
import { createConsumerState, startConsumer, type Consumer, type ConsumerDeps } from './consumer.js';
import { startHeartbeat, type Gauges } from './heartbeat.js';
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
}

export interface Backend {
  readonly consumer: Consumer;
  /** Why it takes no work at the moment; empty when it does. */
  reasonsNotReady(): readonly string[];
  /** Stops reading, finishes what is held, retires. */
  drain(): Promise<void>;
}

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

  for (const stream of streamsOf(served)) await ensureGroup(client, stream);

  const gauges: Gauges = { loads: [] };
  const giveUp = new AbortController();
  const own = consumerDeps(deps, client, redisClock, gauges);
  const state = createConsumerState(own, giveUp.signal);
  const { consumer: name } = config;
  const heartbeat = await startHeartbeat({
    ...{ client, redisClock, gauges, consumer: name, state, models: served.models, device: served.device },
  });
  // Last of all: whoever reads must be able to finish.
  const consumer = startConsumer(own, state, giveUp);
  let draining = false;
  return {
    consumer,
    reasonsNotReady: () => [
      ...(draining ? ['draining'] : []),
      ...(heartbeat.reachesRedis ? [] : ['Redis does not answer']),
      ...(redisClock.now() - consumer.state.lastReadAt > longestSilenceMs && consumer.state.held === 0
        ? ['not reading']
        : []),
    ],
    drain: async () => {
      draining = true;
      await heartbeat.drain();
      await consumer.drain(config.drainMs);
      await retireEverywhere(deps, client);
      await heartbeat.stop();
    },
  };
}

function consumerDeps(deps: BackendDeps, client: Redis, redisClock: RedisClock, gauges: Gauges): ConsumerDeps {
  const { config, served, connections, tracer, log } = deps;
  const metrics = createBackendMetrics(deps.meter, () => gauges.loads);
  const { resultSeconds, cacheSeconds, batchBytes, consumer } = config;
  return {
    ...{ consumer, client, redisClock, batchBytes, tracer, log, metrics },
    models: served.models,
    connectBlocking: connections.connectBlocking,
    settle: { client, cache: connections.cache, resultSeconds, cacheSeconds, metrics, random: Math.random },
    now: () => performance.now(),
    random: Math.random,
  };
}

function streamsOf(served: ServedModels): readonly string[] {
  return served.models.map((model) => partitionKeys(model.manifest.name).tasks('normal'));
}

async function retireEverywhere({ config, served, log }: BackendDeps, client: Redis): Promise<void> {
  for (const stream of streamsOf(served)) {
    const gone = await retire(client, stream, config.consumer);
    if (!gone) log.warn({ stream }, 'entries are still held here; the consumer stays in the group for others to claim');
  }
}
