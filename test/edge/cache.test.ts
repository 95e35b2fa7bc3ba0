import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { after, test } from 'node:test';
import { createNoopMeter, type Attributes } from '@opentelemetry/api';
import { Redis } from 'ioredis';
import { encodeCached } from '../../contracts/cached.js';
import { cacheKey } from '../../contracts/keys.js';
import { createCache, type CacheReader } from '../../edge/cache.js';
import { createEdgeMetrics } from '../../edge/metrics.js';
import { testRedis } from '../redis.js';

const server = await testRedis({ role: 'cache' });
const writer = new Redis(server.url);
const reader = new Redis(server.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0 });
for (const client of [writer, reader]) client.on('error', () => undefined);
after(() => {
  writer.disconnect();
  reader.disconnect();
});
const sha256 = 'ab'.repeat(32);
const answer = Buffer.from('{"a":1}');
const expiresAt = 2_000_000_000;
const kept = { answer, expiresAt };
await Promise.all([writer, reader].map(untilReady));
await writer.set(cacheKey('work'), encodeCached(sha256, expiresAt, [answer]));

/** A cache whose lookups are counted, and whose time is moved by hand. */
function countedCache(timeoutMs: number, from: CacheReader = reader) {
  const found: unknown[] = [];
  const metrics = createEdgeMetrics(createNoopMeter());
  const cacheLookups = { add: (_: number, labels?: Attributes) => found.push(labels?.['found']) };
  const time = { ms: 0 };
  const clock = { now: () => time.ms };
  const cache = createCache({
    reader: from,
    timeoutMs,
    nextTurn: setImmediate,
    clock,
    metrics: { ...metrics, cacheLookups },
  });
  return { cache, found, time };
}

test('what is stored is found, as bytes, where the SHA-256 agrees or none is asked for', async () => {
  const { cache, found } = countedCache(5000);
  assert.deepEqual(await cache.find('work', sha256, 'toy'), kept);
  assert.deepEqual(await cache.find('work', undefined, 'toy'), kept);
  assert.equal(await cache.find('work', 'cd'.repeat(32), 'toy'), undefined);
  assert.equal(await cache.find('other', sha256, 'toy'), undefined);
  assert.deepEqual(found, ['hit', 'hit', 'miss', 'miss']);
});

test('lookups of one turn travel together, 64 to a command, and each finds its own', async () => {
  const works = Array.from({ length: 100 }, (_, i) => `together-${String(i)}`);
  const stored = (work: string) => Buffer.from(`"${work}"`);
  for (const work of works.slice(1)) await writer.set(cacheKey(work), encodeCached(sha256, expiresAt, [stored(work)]));
  const commands: number[] = [];
  const counting = {
    mgetBuffer: (keys: string[]) => {
      commands.push(keys.length);
      return reader.mgetBuffer(keys);
    },
  };
  const { cache, found } = countedCache(5000, counting);
  const answers = await Promise.all(works.map((work) => cache.find(work, sha256, 'toy')));
  assert.deepEqual(answers, [undefined, ...works.slice(1).map((work) => ({ answer: stored(work), expiresAt }))]);
  assert.deepEqual(commands, [64, 36]);
  assert.equal(found.filter((one) => one === 'hit').length, 99);
});

test('a cache that does not answer in time is a miss, is left alone for a while, and is then asked again', async () => {
  const { cache, found, time } = countedCache(40);
  process.kill(server.pid, 'SIGSTOP');
  assert.equal(await cache.find('work', sha256, 'toy'), undefined);
  const before = await Promise.all(Array.from({ length: 1000 }, () => cache.find('work', sha256, 'toy')));
  assert.ok(before.every((one) => one === undefined));
  assert.equal(found.length, 1001);
  assert.ok(found.every((one) => one === 'unavailable'));
  await goOn();
  assert.equal(await cache.find('work', sha256, 'toy'), undefined, 'it is still left alone');
  time.ms += 1001;
  assert.deepEqual(await cache.find('work', sha256, 'toy'), kept);
  assert.deepEqual(await cache.find('work', sha256, 'toy'), kept, 'all is as before');
});

test('of many lookups after the rest, one tries a cache that is still stuck', async () => {
  const { cache, time } = countedCache(40);
  process.kill(server.pid, 'SIGSTOP');
  await cache.find('work', sha256, 'toy');
  time.ms += 1001;
  const asked = reader.commandQueue.length;
  await Promise.all(Array.from({ length: 100 }, () => cache.find('work', sha256, 'toy')));
  assert.equal(reader.commandQueue.length - asked, 1);
  await goOn();
});

test('a cache that is away is a miss, never an error, and is found again when it is back', async () => {
  const { cache, found, time } = countedCache(5000);
  await server.stop();
  assert.equal(await cache.find('work', sha256, 'toy'), undefined);
  assert.equal(found.at(-1), 'unavailable');
  await server.start();
  await Promise.all([writer, reader].map(untilReady));
  await writer.set(cacheKey('work'), encodeCached(sha256, expiresAt, [answer]));
  time.ms += 1001;
  assert.deepEqual(await cache.find('work', sha256, 'toy'), kept);
});

async function goOn(): Promise<void> {
  process.kill(server.pid, 'SIGCONT');
  await reader.ping();
}

async function untilReady(client: Redis): Promise<void> {
  if (client.status !== 'ready') await new Promise((resolve) => client.once('ready', resolve));
}

test('a process that was busy itself does not take an answer that has arrived for a late one', async () => {
  const { cache, found } = countedCache(40);
  const lookup = cache.find('work', sha256, 'toy');
  await new Promise(setImmediate);
  const busyUntil = performance.now() + 200;
  while (performance.now() < busyUntil);
  assert.deepEqual(await lookup, kept);
  assert.deepEqual(found, ['hit']);
});
