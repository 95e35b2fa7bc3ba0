import { cpuDuring } from '../process-cpu.js';
import type { Generator } from '../http/start-generator.js';
import { tracingOnePercent, type Surroundings } from '../surroundings.js';

/** Shipped edge and backend with a real model, on servers of their own. */
export interface WholePath {
  readonly name: string;
  readonly url: string;
  readonly pids: Readonly<Record<'edge' | 'consumer' | 'redis', number | readonly number[]>>;
}

export const model = 'nsfw';

export async function startWholePath(
  here: Surroundings,
  { name, cache, modelDir }: { name: string; cache: boolean; modelDir: string },
): Promise<WholePath> {
  const stream = await here.redis('stream');
  const cacheServer = cache ? await here.redis('cache') : undefined;
  const env = {
    ...{ ...tracingOnePercent(here.otlpUrl), REDIS_URL: stream.url, METRICS_PORT: '0' },
    ...(cacheServer ? { CACHE_REDIS_URL: cacheServer.url } : { SAMPAN_CACHE: 'off' }),
  };
  const backend = await here.start('backend/main.js', {
    ...{ ...env, HEALTH_PORT: '0', MODELS: model, MODEL_DIR: modelDir },
  });
  const edge = await here.start('edge.mjs', { ...env, PORT: '0' });
  const redis = [stream, ...(cacheServer ? [cacheServer] : [])].map(({ pid }) => pid);
  return { name, url: edge.url, pids: { edge: edge.pid, consumer: backend.pid, redis } };
}

export interface Uploads {
  /** Photos that take turns, each time with other bytes behind their end. */
  readonly files: readonly string[];
  readonly callers: number;
  readonly requests: number;
}

/** Uploads pictures none of which came before: CPU µs per task of each process, tasks per second, latencies. */
export async function measureUploads(
  generator: Generator,
  { name, url, pids }: WholePath,
  { files, callers, requests }: Uploads,
): Promise<Record<string, number>> {
  const { result, micros } = await cpuDuring(pids, () =>
    generator.send({
      ...{ origins: [url], method: 'POST', paths: [`/v1/models/${model}/predict`], files: [...files], unique: true },
      ...{
        headers: { 'content-type': 'image/jpeg', 'x-timeout-ms': '60000' },
        pace: { kind: 'closed', callers, requests },
      },
    }),
  );
  const { statuses, seconds, p50Ms, p99Ms } = result;
  if (statuses['200'] !== requests) throw new Error(`${name} did not answer all: ${JSON.stringify(statuses)}`);
  const perTask = (of: string) => (micros[of] ?? Number.NaN) / requests;
  const [edgeMicros, consumerMicros, redisMicros] = [perTask('edge'), perTask('consumer'), perTask('redis')];
  return {
    ...{ edgeMicros, consumerMicros, redisMicros, totalMicros: edgeMicros + consumerMicros + redisMicros },
    ...{ tasksPerSecond: requests / seconds, p50Ms, p99Ms },
  };
}
