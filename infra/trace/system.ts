import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { freePort } from '../setup/free-port.js';
import { ensureRedisServer } from '../setup/redis-server.js';
import { startRedis } from '../setup/start-redis.js';
import { startPart, type Part } from './part.js';

/** One edge, one backend and both Redis roles, private and on free ports. */
export interface TracedSystem {
  /** Base URL of the edge. */
  readonly url: string;
  /** Ends all of it: edge, backend, Redis. */
  stop(): Promise<void>;
}

export interface TracedSystemOptions {
  /** Root of the repository, built into its dist. */
  readonly repository: string;
  /** Where spans are sent. */
  readonly otlpUrl: string;
  /** What the parts get beside the settings made here. */
  readonly env: NodeJS.ProcessEnv;
  /** Told what takes its time. */
  say(what: string): void;
}

type Stops = (() => Promise<void>)[];

const host = '127.0.0.1';
const readyLimitMs = 60_000;

/**
 * Starts the system as it is built, every request traced and exported.
 * @throws Error with the last lines of the part that does not start; what had started is ended by then
 */
export async function startTracedSystem(options: TracedSystemOptions): Promise<TracedSystem> {
  const stops: Stops = [];
  const stop = async () => {
    for (const end of stops.splice(0).reverse()) await end();
  };
  try {
    const env = partEnvironment(options, await startBothRedis(options, stops));
    const [edgePort, healthPort, edgeMetrics, backendMetrics] = await freePorts();
    await prepareModels(options, env);
    options.say('starting a backend');
    const backend = part('backend', 'backend/main.js', { HEALTH_PORT: healthPort, METRICS_PORT: backendMetrics });
    await backend.untilReady(`http://${host}:${healthPort}/readyz`, readyLimitMs);
    options.say('starting an edge');
    const edge = part('edge', 'edge.mjs', { PORT: edgePort, METRICS_PORT: edgeMetrics });
    await edge.untilReady(`http://${host}:${edgePort}/readyz`, readyLimitMs);
    return { url: `http://${host}:${edgePort}`, stop };

    function part(name: string, script: string, ports: NodeJS.ProcessEnv): Part {
      const started = startPart(name, join(options.repository, 'dist', script), { ...env, ...ports });
      stops.push(started.stop);
      return started;
    }
  } catch (error) {
    await stop();
    throw error;
  }
}

async function startBothRedis({ repository, say }: TracedSystemOptions, stops: Stops): Promise<NodeJS.ProcessEnv> {
  const { binary } = await ensureRedisServer(join(repository, '.cache', 'redis'), say);
  const stream = await startRedis({ role: 'stream', binary });
  stops.push(stream.stop);
  const cache = await startRedis({ role: 'cache', binary });
  stops.push(cache.stop);
  return { REDIS_URL: stream.url, CACHE_REDIS_URL: cache.url };
}

/** Takes seconds the first time, nothing after that. */
async function prepareModels({ repository, say }: TracedSystemOptions, env: NodeJS.ProcessEnv): Promise<void> {
  say('preparing models');
  await promisify(execFile)(process.execPath, [join(repository, 'dist/infra/models/main.js')], { env });
}

/** OTEL_* of the caller's own is left out: it might send the spans elsewhere, or none at all. */
function partEnvironment({ repository, otlpUrl, env }: TracedSystemOptions, redis: NodeJS.ProcessEnv) {
  const inherited = Object.entries(env).filter(([name]) => !name.startsWith('OTEL_') && name !== 'REDIS_CLUSTER_NODES');
  return {
    MODEL_DIR: join(repository, '.models'),
    ...Object.fromEntries(inherited),
    ...redis,
    SAMPAN_HOST: host,
    OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl,
    OTEL_TRACES_SAMPLER: 'parentbased_always_on',
    OTEL_BSP_SCHEDULE_DELAY: '100',
  };
}

async function freePorts(): Promise<[string, string, string, string]> {
  const taken = new Set<number>();
  const next = async () => {
    const port = await freePort(0, taken);
    taken.add(port);
    return String(port);
  };
  return [await next(), await next(), await next(), await next()];
}
