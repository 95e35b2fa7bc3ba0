import { after } from 'node:test';
import { pino } from 'pino';
import type { Redis } from 'ioredis';
import { loadConfig as loadBackendConfig } from '../../backend/config.js';
import type { Model } from '../../backend/model/model.js';
import type { ServedModels } from '../../backend/model/served-models.js';
import { startProcess, type RunningProcess } from '../../backend/process.js';
import { loadConfig as loadEdgeConfig } from '../../edge/config.js';
import { startEdge, type RunningEdge } from '../../edge/node-server.js';
import { consumerGroup, partitionKeys } from '../../contracts/keys.js';
import { keysLeft, testRedisPair } from '../redis.js';

type Environment = Readonly<Record<string, string>>;

/** Models that a test made itself, as a process serves them. */
export function servedBy(...models: readonly Model[]): ServedModels {
  return {
    device: { kind: 'simulated', name: 'test' },
    models,
    rated: new Map(),
    failed: new Promise(() => undefined),
    close: async () => {
      for (const model of models) await model.release();
    },
  };
}

export interface System {
  readonly env: Environment;
  readonly stream: Redis;
  readonly cache: Redis;
  edge(env?: Environment): Promise<RunningEdge>;
  backend(served: ServedModels, env?: Environment): Promise<RunningProcess>;
}

/** Both Redis roles, and edges and backends in this very process; all of it ends with the test file. */
export async function testSystem(): Promise<System> {
  const log = pino({ level: 'error' });
  const edges: RunningEdge[] = [];
  const backends: RunningProcess[] = [];
  after(async () => {
    await Promise.all(edges.map((edge) => edge.close()));
    await Promise.all(backends.map((backend) => backend.stop()));
  });
  // Hooks run in the order of their registration: the servers stop last.
  const redis = await testRedisPair();
  const env = {
    ...{ REDIS_URL: redis.stream.url, CACHE_REDIS_URL: redis.cache.url, SAMPAN_LOG_LEVEL: 'error' },
    ...{ PORT: '0', METRICS_PORT: '0', HEALTH_PORT: '0', SAMPAN_CACHE_TIMEOUT_MS: '2000' },
    SAMPAN_LIMITS_TIMEOUT_MS: '5000',
  };
  return {
    env,
    stream: redis.stream.client(),
    cache: redis.cache.client(),
    edge: async (more = {}) => {
      const edge = await startEdge(loadEdgeConfig({ ...env, ...more }), log, {});
      edges.push(edge);
      return edge;
    },
    backend: async (served, more = {}) => {
      const consumer = `test-${String(backends.length)}`;
      const config = loadBackendConfig({ ...env, SAMPAN_CONSUMER: consumer, ...more });
      const backend = await startProcess({ config, served, log, env: {} });
      backends.push(backend);
      return backend;
    },
  };
}

export interface Answered {
  readonly status: number;
  readonly cache: string | null;
  /** Whatever was answered; tests assert its members one by one. */
  // eslint-disable-next-line @typescript-eslint/no-explicit-any
  readonly body: any;
  readonly headers: Headers;
}

/** Sends a picture as the body. */
export async function predict(
  url: string,
  model: string,
  image: Uint8Array<ArrayBuffer>,
  headers: Record<string, string> = {},
): Promise<Answered> {
  const response = await fetch(`${url}/v1/models/${model}/predict`, { method: 'POST', body: image, headers });
  const body: unknown = await response.json();
  return { status: response.status, cache: response.headers.get('x-cache'), body, headers: response.headers };
}

/** What is left of a model's work: nothing, once every task has left. Stored results live on for a while. */
export async function leftovers(stream: Redis, model: string): Promise<object> {
  const key = partitionKeys(model).tasks('normal');
  const [entries, pending, keys] = await Promise.all([
    stream.xlen(key),
    stream.xpending(key, consumerGroup),
    keysLeft(stream),
  ]);
  const own = keys.filter((name) => name.startsWith(`sampan:{${model}:`) && name !== key && !name.includes(':result:'));
  return { entries, pending: pending[0], keys: own };
}

export const nothingLeft = { entries: 0, pending: 0, keys: [] };

/** Waits until something holds; throws with its last value where it does not within `limitMs`. */
export async function until<T>(look: () => T | Promise<T>, holds: (value: T) => boolean, limitMs = 15_000): Promise<T> {
  const givenUpAt = performance.now() + limitMs;
  for (;;) {
    const value = await look();
    if (holds(value)) return value;
    if (performance.now() > givenUpAt) throw new Error(`still ${JSON.stringify(value)} after ${String(limitMs)} ms`);
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}
