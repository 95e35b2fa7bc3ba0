import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatch } from '../../../backend/model/latch.js';
import { simulatedLabel, simulatedModel } from '../../../backend/model/simulated-model.js';
import { consumerGroup, partitionKeys } from '../../../contracts/keys.js';
import { enqueue } from '../../../contracts/scripts/enqueue.js';
import { leave } from '../../../contracts/scripts/leave.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { picture } from '../../pictures.js';
import { keysLeft, testRedis } from '../../redis.js';
import { deliver, enqueueRequest, toyKeys, toyStream, unlimited } from '../../tasks.js';
import { startPart } from '../processes.js';
import { leftovers, nothingLeft, predict, servedBy, testSystem, until } from '../system.js';
import { infoNumber } from './redis-info.js';

const long = process.env['SAMPAN_TEST_LONG'] !== undefined;
const system = await testSystem();
const stream = defineScripts(system.stream);
/** A server that is told to evict by one policy after the other. */
const evicting = await testRedis({ role: 'cache' });

const named = (name: string, most = 32) => {
  const latch = createLatch();
  const batch = { simulated: { max: most, maxWaitMs: 0 } };
  return { latch, model: simulatedModel({ latch, manifest: { name, batch } }) };
};
const entryIds = async (key: string) => (await stream.xrange(key, '-', '+')).map(([id]) => id);

test('row 2: after 100,000 acked tasks the stream holds what is in flight and nothing else', async () => {
  const total = long ? 1_000_000 : 100_000;
  const size = 128;
  const to = { model: 'toy', lane: 'normal', edge: 'edge-1', limits: unlimited, tasksPerSecond: 0 } as const;
  const from = { model: 'toy', lane: 'normal', keepResultMs: 1 } as const;
  const send = async (number: number) => {
    const requests = Array.from({ length: size }, (_, i) => enqueueRequest({ image: Buffer.from(`${number}.${i}`) }));
    await enqueue(stream, to, requests);
    const entries = await deliver(stream, 'one', size);
    return requests.map(({ id: taskId }, i) => ({ taskId, entryId: entries[i] ?? '', reason: 'succeeded' as const }));
  };
  const batches = Math.ceil(total / size);
  let inFlight = await send(0);
  for (let number = 1; number < batches; number++) {
    const next = await send(number);
    const ends = await leave(stream, from, inFlight);
    assert.ok(ends.every(({ how }) => how === 'left'));
    inFlight = next;
    if (number % 64 === 0) assert.equal(await stream.xlen(toyStream), size);
  }
  const entries = inFlight.map(({ entryId }) => entryId);
  assert.deepEqual(await entryIds(toyStream), entries);
  const [waiting] = await stream.xpending(toyStream, consumerGroup);
  assert.equal(waiting, size);
  await leave(stream, from, inFlight);
  assert.equal(await stream.xlen(toyStream), 0);
  assert.deepEqual(
    (await keysLeft(stream)).filter((key) => key.startsWith('sampan:{toy:')),
    [toyStream],
  );
  assert.deepEqual(await stream.hgetall(toyKeys.load), {});
});

test('row 2: beyond the cap a request is answered 503, and of what was admitted nothing is trimmed', async () => {
  const cap = 20;
  const { latch, model } = named('capped', 4);
  await system.backend(servedBy(model));
  const { url } = await system.edge({ SAMPAN_MAX_TASKS: String(cap) });
  const key = partitionKeys('capped').tasks('normal');
  latch.hold();
  const pictures = Array.from({ length: cap }, (_, i) => picture(`admitted-${i}`));
  const admitted = pictures.map((image) => predict(url, 'capped', image, { 'x-timeout-ms': '60000' }));
  const before = await until(
    () => entryIds(key),
    (ids) => ids.length === cap,
  );

  const refused = await Promise.all(Array.from({ length: 40 }, (_, i) => predict(url, 'capped', picture(`late-${i}`))));
  for (const { status, body, headers } of refused) {
    assert.deepEqual([status, body.code, body.retryable], [503, 'overloaded', true]);
    assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
  }
  assert.deepEqual(await entryIds(key), before);

  latch.release();
  const answers = await Promise.all(admitted);
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.predictions?.[0].label]),
    pictures.map((image) => [200, simulatedLabel(image)]),
  );
  assert.deepEqual(await leftovers(stream, 'capped'), nothingLeft);
});

for (const policy of ['allkeys-lfu', 'volatile-lru']) {
  test(`row 14: neither part starts on a stream role that evicts by ${policy}, and both say why`, async () => {
    await evicting.client().config('SET', 'maxmemory-policy', policy);
    const ports = { PORT: '0', METRICS_PORT: '0', HEALTH_PORT: '0' };
    const env = { ...ports, REDIS_URL: evicting.url, CACHE_REDIS_URL: system.env['CACHE_REDIS_URL'] ?? '' };
    const parts = [
      startPart('edge.mjs', env),
      startPart('backend/main.js', { ...env, SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: ['refused'] }) }),
    ];
    const serves = ({ msg }: Record<string, unknown>) => msg === 'listening' || msg === 'ready';
    await Promise.all(parts.map((part) => assert.rejects(part.line(serves), /the process ended before/)));
    for (const part of parts) {
      assert.equal(await part.exited, 1, part.output());
      assert.match(part.output(), new RegExp(`maxmemory-policy ${policy}.*noeviction.*CACHE_REDIS_URL`));
    }
    assert.deepEqual(await keysLeft(evicting.client()), []);
  });
}

test('row 14: a cache filled beyond its memory leaves streams, results and markers as they are', async () => {
  const { latch, model } = named('kept', 4);
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  const finished = Array.from({ length: 8 }, (_, i) => picture(`finished-${i}`));
  for (const image of finished) assert.equal((await predict(url, 'kept', image)).status, 200);
  latch.hold();
  const pictures = Array.from({ length: 12 }, (_, i) => picture(`unfinished-${i}`));
  const asked = pictures.map((image) => predict(url, 'kept', image, { 'x-timeout-ms': '60000' }));
  const key = partitionKeys('kept').tasks('normal');
  await until(
    () => stream.xlen(key),
    (length) => length === pictures.length,
  );
  const before = await snapshot('kept');
  assert.equal(Object.keys(before).filter((name) => name.includes(':result:')).length, finished.length);

  await system.cache.config('SET', 'maxmemory', '16mb');
  for (let i = 0; infoNumber(await system.cache.info('stats'), 'evicted_keys') < 200; i++) {
    await system.cache.set(`sampan:cache:filler:${i}`, Buffer.alloc(50_000, i), 'EX', 86_400);
  }
  assert.deepEqual(await snapshot('kept'), before);
  assert.equal(infoNumber(await stream.info('stats'), 'evicted_keys'), 0);

  latch.release();
  for (const { status } of await Promise.all(asked)) assert.equal(status, 200);
  assert.deepEqual(await leftovers(stream, 'kept'), nothingLeft);
});

test('row 14: while the stream role is out of memory requests are answered 503, and what is held still leaves', async () => {
  const { latch, model } = named('full', 4);
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  latch.hold();
  const held = Array.from({ length: 4 }, (_, i) => predict(url, 'full', picture(`held-${i}`)));
  await until(
    () => stream.xlen(partitionKeys('full').tasks('normal')),
    (length) => length === held.length,
  );
  await stream.config('SET', 'maxmemory', '1');
  try {
    for (let i = 0; i < 5; i++) {
      const { status, body, headers } = await predict(url, 'full', picture(`refused-${i}`));
      assert.deepEqual([status, body.code, body.retryable], [503, 'stream_unavailable', true]);
      assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
    }
    latch.release();
    for (const { status } of await Promise.all(held)) assert.equal(status, 200);
    assert.deepEqual(await leftovers(stream, 'full'), nothingLeft);
  } finally {
    await stream.config('SET', 'maxmemory', '0');
  }
  assert.equal((await predict(url, 'full', picture('room again'))).status, 200);
});

/** All that a model has in the stream role, by key; a stream as its entries, since whoever reads it changes the rest. */
async function snapshot(model: string): Promise<Record<string, unknown>> {
  const keys = (await keysLeft(stream)).filter((key) => key.startsWith(`sampan:{${model}:`));
  const values = keys.map(async (key) => {
    const isStream = (await stream.type(key)) === 'stream';
    return [key, isStream ? await stream.xrange(key, '-', '+') : await stream.dumpBuffer(key)] as const;
  });
  return Object.fromEntries(await Promise.all(values));
}
