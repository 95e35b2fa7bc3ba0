import { createHash } from 'node:crypto';
import { Redis } from 'ioredis';
import type { RunningRedis } from '../../../infra/setup/start-redis.js';
import { tracingOnePercent, type Part, type Surroundings } from '../surroundings.js';
import { rivalKey } from './rival-key.js';

/** An edge and a consumer as shipped, both Redis roles, and an image whose answer lies in the cache. */
export interface AnsweredImage {
  readonly edge: Part;
  /** What this edge was started with; another one may be started with the same. */
  readonly edgeEnv: Readonly<Record<string, string>>;
  readonly stream: RunningRedis;
  readonly cache: RunningRedis;
  /** Path that the image is posted to, and path with query under which its answer is looked up. */
  readonly predictPath: string;
  readonly lookupPath: string;
  /** The answer's body, as every hit sends it. */
  readonly answer: string;
}

const model = 'toy';

/** What all of it goes by, beside what README.md calls defaults. */
export const shippedSettings = {
  edge: 'defaults, 1 % of traces exported',
  streamRedis: 'appendonly everysec, noeviction',
  cacheRedis: 'allkeys-lfu, 256mb, no persistence',
} as const;

/**
 * Starts all of it, sends the image once, and keeps a copy of its answer for rivals, under {@link rivalKey}. The
 * consumer's device is a simulated one that costs nothing; after the one task it idles, since uploads are refused
 * where no consumer lives.
 */
export async function startWithAnswer(here: Surroundings, image: Buffer<ArrayBuffer>): Promise<AnsweredImage> {
  const [stream, cache] = [await here.redis('stream'), await here.redis('cache')];
  const env = { REDIS_URL: stream.url, CACHE_REDIS_URL: cache.url, METRICS_PORT: '0' };
  await here.start('backend/main.js', {
    ...{ ...env, HEALTH_PORT: '0', SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: [model] }) },
    ...tracingOnePercent(here.otlpUrl),
  });
  const edgeEnv = { ...env, PORT: '0', ...tracingOnePercent(here.otlpUrl) };
  const edge = await here.start('edge.mjs', edgeEnv);
  const md5 = createHash('md5').update(image).digest('hex');
  const sha256 = createHash('sha256').update(image).digest('hex');
  const predictPath = `/v1/models/${model}/predict`;
  const lookupPath = `/v1/models/${model}/results/${md5}?sha256=${sha256}`;
  await fetchText(`${edge.url}${predictPath}`, { method: 'POST', body: image });
  const answer = await untilKept(`${edge.url}${lookupPath}`);
  await keepForRivals(cache.url, md5, answer);
  return { edge, edgeEnv, stream, cache, predictPath, lookupPath, answer };
}

async function keepForRivals(url: string, md5: string, answer: string): Promise<void> {
  const client = new Redis(url);
  await client.set(rivalKey(md5), answer);
  client.disconnect();
}

/** The cache is written behind the answer. */
async function untilKept(url: string): Promise<string> {
  for (const until = Date.now() + 10_000; Date.now() < until;) {
    const answer = await fetch(url);
    if (answer.ok) return answer.text();
    await answer.body?.cancel();
  }
  throw new Error('the answer does not come into the cache');
}

async function fetchText(url: string, init: RequestInit): Promise<string> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  if (!answer.ok) throw new Error(`${url} answered ${String(answer.status)}: ${text}`);
  return text;
}
