import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { startHealthServer } from '../infra/process/health-server.js';
import { publicConfig } from '../infra/process/public-config.js';
import { connectBlocking, connectCache, connectCommands, untilReady } from '../infra/process/redis-connection.js';
import { checkStreamRole, sameServer } from '../infra/process/redis-role.js';
import { openSpanKeeper } from '../infra/process/span-keeper.js';
import { startTelemetry } from '../infra/process/telemetry.js';
import { startBackend, type Backend, type BackendConnections } from './backend.js';
import type { BackendConfig } from './config.js';
import { openMemorySource } from './memory/open-source.js';
import type { ServedModels } from './model/served-models.js';
import { blockMs } from './reader.js';

/** One backend process from start to end. */
export interface RunningProcess {
  readonly healthUrl: string;
  readonly metricsUrl: string | undefined;
  /** Tasks held now. */
  held(): number;
  /** Resolves with the reason when the device is lost for good, or the consumer cannot go on. */
  readonly failed: Promise<unknown>;
  /** Resolves when memory stays short although nothing is held: to be stopped and replaced. */
  readonly outOfMemory: Promise<void>;
  /** Drains and closes all; resolves with whether everything that was held has left. */
  stop(): Promise<boolean>;
}

/** Milliseconds that the end of a process waits for its sessions to close. */
const closeLimitMs = 10_000;

/** Milliseconds that start-up waits for Redis. */
const redisStartMs = 15_000;

export interface ProcessOptions {
  readonly config: BackendConfig;
  /** Opened before anything else: a process that cannot infer never appears anywhere. Closed with the process. */
  readonly served: ServedModels;
  readonly log: Logger;
  /** Where OpenTelemetry's own variables are looked up. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Opens connections, telemetry and health, and starts to serve.
 * @throws Error for operators, saying what is missing
 */
export async function startProcess({ config, served, log, env }: ProcessOptions): Promise<RunningProcess> {
  const connections = await openConnections(config, log);
  const keeper = config.traceStore ? openSpanKeeper(config.cacheRedisUrl, 'backend-traces', log) : undefined;
  const telemetry = await startTelemetry({
    ...{ service: 'sampan-backend', instance: config.consumer },
    ...{ host: config.host, metricsPort: config.metricsPort, env, keeper },
  });
  const { tracer, meter } = telemetry;
  const models = served.models.map((model) => `${model.manifest.name}@${model.manifest.version}`);
  let started: Backend | undefined = undefined;
  const health = await startHealthServer({
    ...{ host: config.host, port: config.healthPort },
    live: () => started?.isLive() ?? true,
    ready: () => {
      const reasons = started?.reasonsNotReady() ?? ['starting'];
      return { ready: reasons.length === 0, reasons };
    },
    describe: () => ({
      ...{
        consumer: config.consumer,
        device: served.device,
        memory: started?.memory.level,
        held: started?.consumer.state.leases.size ?? 0,
      },
      models,
    }),
  });
  const memorySource = openMemorySource(config, log);
  const backend = await startBackend({ config, connections, served, tracer, meter, log, memorySource });
  started = backend;
  log.info({ health: health.url, metrics: telemetry.metricsUrl, models, config: publicConfig(config) }, 'ready');
  return {
    healthUrl: health.url,
    metricsUrl: telemetry.metricsUrl,
    held: () => backend.consumer.state.leases.size,
    failed: backend.consumer.failed,
    outOfMemory: backend.outOfMemory,
    stop: async () => {
      await backend.drain();
      // A run that hangs would keep its session for ever.
      await Promise.race([served.close(), sleep(closeLimitMs, undefined, { ref: false })]);
      connections.close();
      await Promise.all([health.close(), telemetry.shutdown()]);
      keeper?.close();
      return !backend.consumer.leftPending();
    },
  };
}

interface OpenConnections extends BackendConnections {
  close(): void;
}

async function openConnections(config: BackendConfig, logger: Logger): Promise<OpenConnections> {
  const client = connectCommands(config.redisUrl, { name: 'backend-commands', logger });
  const cache = config.cache ? connectCache(config.cacheRedisUrl, { name: 'backend-cache', logger }) : undefined;
  await untilReady(client, redisStartMs);
  await checkStreamRole(client);
  if (cache) await warnOfSharedServer(client, cache, logger);
  return {
    client,
    cache,
    connectBlocking: async (model) => {
      const blocking = connectBlocking(config.redisUrl, {
        name: `backend-read-${model}`,
        logger,
        longestBlockMs: blockMs,
      });
      await untilReady(blocking, redisStartMs);
      return blocking;
    },
    close: () => {
      client.disconnect();
      cache?.disconnect();
    },
  };
}

async function warnOfSharedServer(client: Redis, cache: Redis, log: Logger): Promise<void> {
  if (await sameServer(client, cache)) {
    log.warn('one Redis server plays both roles: cached answers are bounded only by their age');
  }
}
