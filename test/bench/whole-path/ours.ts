import { tracingOnePercent, type Surroundings } from '../surroundings.js';

export interface OursOptions {
  readonly modelDir: string;
  readonly model: string;
  /** Backend processes, and the CPU threads of a run in each. */
  readonly backends: number;
  readonly threads: number;
  /** Edge processes, 1 where it is left out. */
  readonly edges?: number;
  /** More of the backends' environment, such as SAMPAN_DEVICE. */
  readonly backendEnv?: Readonly<Record<string, string>>;
}

/** The whole of ours as shipped: both Redis roles, edges and backends. */
export interface Ours {
  /** One per edge. */
  readonly origins: readonly string[];
  readonly path: string;
  readonly edgePids: readonly number[];
  readonly backendPids: readonly number[];
  readonly redisPids: readonly number[];
  /** Of the backends. */
  readonly metricsUrls: readonly string[];
}

/** Starts ours; what it consists of ends with its surroundings. */
export async function startOurs(here: Surroundings, options: OursOptions): Promise<Ours> {
  const { modelDir, model, backends, threads, edges = 1, backendEnv = {} } = options;
  const [stream, cache] = [await here.redis('stream'), await here.redis('cache')];
  const shared = {
    ...{ REDIS_URL: stream.url, CACHE_REDIS_URL: cache.url, METRICS_PORT: '0' },
    ...tracingOnePercent(here.otlpUrl),
  };
  const backend = { ...shared, MODEL_DIR: modelDir, MODELS: model, HEALTH_PORT: '0' };
  const shares = { SAMPAN_PROCESSES: String(backends), SAMPAN_THREADS: String(threads) };
  const consumers = await times(backends, () =>
    here.start('backend/main.js', { ...backend, ...shares, ...backendEnv }),
  );
  const fronts = await times(edges, () => here.start('edge.mjs', { ...shared, PORT: '0' }));
  return {
    origins: fronts.map(({ url }) => url),
    path: `/v1/models/${model}/predict`,
    edgePids: fronts.map(({ pid }) => pid),
    backendPids: consumers.map(({ pid }) => pid),
    redisPids: [stream.pid, cache.pid],
    metricsUrls: consumers.map(({ ready }) => String(ready['metrics'])),
  };
}

async function times<Made>(count: number, make: () => Promise<Made>): Promise<Made[]> {
  const made: Made[] = [];
  for (let i = 0; i < count; i++) made.push(await make());
  return made;
}
