import assert from 'node:assert/strict';
import { test } from 'node:test';
import { testRedisPair } from '../../redis.js';
import { runningBackend, runningEdge } from './parts.js';

const redis = await testRedisPair();
await redis.stream.client().call('ACL', 'SETUSER', 'someone', 'on', '>secret-word', '+@all', 'allkeys', 'allchannels');
const streamUrl = redis.stream.url.replace('redis://', 'redis://someone:secret-word@');
const urls = { REDIS_URL: streamUrl, CACHE_REDIS_URL: redis.cache.url };
/** Redis's address may be told, its password not. */
const told = { redisUrl: redis.stream.url, cacheRedisUrl: redis.cache.url };

/** Variables that are set to other than their defaults, and what start-up must then say of itself. */
const shared = [
  ['SAMPAN_MAX_PIXELS', '1000001', { maxPixels: 1_000_001 }],
  ['SAMPAN_CACHE', 'off', { cache: false }],
  ['SAMPAN_LOG_LEVEL', 'debug', { logLevel: 'debug' }],
] as const;
const ofEdge = [
  ...shared,
  ['SAMPAN_MAX_BODY_BYTES', '70001', { maxBodyBytes: 70_001 }],
  ['SAMPAN_DEFAULT_TIMEOUT_MS', '7001', { defaultTimeoutMs: 7001 }],
  ['SAMPAN_MAX_TIMEOUT_MS', '8001', { maxTimeoutMs: 8001 }],
  ['SAMPAN_MAX_TASKS', '9001', { maxTasks: 9001 }],
  ['SAMPAN_MAX_TASK_BYTES', '1000002', { maxTaskBytes: 1_000_002 }],
  ['SAMPAN_CACHE_TIMEOUT_MS', '71', { cacheTimeoutMs: 71 }],
  ['SAMPAN_LOOKUP_MD5_ONLY', 'true', { lookupMd5Only: true }],
] as const;
const ofBackend = [
  ...shared,
  ['SAMPAN_CONSUMER', 'told', { consumer: 'told' }],
  ['SAMPAN_THREADS', '3', { threads: 3 }],
  ['SAMPAN_BATCH_BYTES', '1000003', { batchBytes: 1_000_003 }],
  ['SAMPAN_DRAIN_SECONDS', '31', { drainMs: 31_000 }],
  ['SAMPAN_RESULT_SECONDS', '61', { resultSeconds: 61 }],
  ['SAMPAN_CACHE_SECONDS', '80001', { cacheSeconds: 80_001 }],
  ['SAMPAN_LEASE_MS', '5001', { leaseMs: 5001 }],
] as const;
type Rows = readonly (readonly [name: string, value: string, said: object])[];
const environment = (rows: Rows) => ({ ...urls, ...Object.fromEntries(rows.map(([name, value]) => [name, value])) });
const expected = (rows: Rows): object => Object.assign({}, told, ...rows.map(([, , said]) => said));

function assertTold(line: Record<string, unknown> | undefined, rows: Rows, output: string): void {
  const config: unknown = line?.['config'];
  assert.ok(typeof config === 'object' && config !== null, `no configuration in ${JSON.stringify(line)}`);
  assert.deepEqual({ ...config, ...expected(rows) }, config);
  assert.doesNotMatch(output, /secret-word/);
}

test('row 21: the configuration that an edge goes by can be read in its first line, without passwords', async () => {
  const { process } = await runningEdge(environment(ofEdge));
  assertTold(
    process.log.find(({ msg }) => msg === 'listening'),
    ofEdge,
    process.output(),
  );
});

test('row 21: the configuration that a backend goes by can be read in its first line, without passwords', async () => {
  const { process } = await runningBackend('told', environment(ofBackend));
  assertTold(
    process.log.find(({ msg }) => msg === 'ready'),
    ofBackend,
    process.output(),
  );
});
