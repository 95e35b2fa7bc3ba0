import assert from 'node:assert/strict';
import { beforeEach, test, type TestContext } from 'node:test';
import { createConsumerState, startConsumer, type ConsumerDeps } from '../../backend/consumer.js';
import { createLatch } from '../../backend/model/latch.js';
import { simulatedModel, type SimulatedModel } from '../../backend/model/simulated-model.js';
import { ensureGroup } from '../../backend/reader.js';
import { consumerGroup } from '../../contracts/keys.js';
import { leave } from '../../contracts/scripts/leave.js';
import { defineScripts, letGo } from '../../contracts/scripts/scripts.js';
import { holdingProxy } from '../holding-proxy.js';
import { until } from '../integration/system.js';
import { testRedis } from '../redis.js';
import { deliver, enqueueOne, enqueueRequest, pending, toyKeys, toyStream } from '../tasks.js';
import { depsOn } from './deliveries.js';
import { connectBlocking, connectCommands, untilReady } from '../../infra/process/redis-connection.js';
import { pino } from 'pino';

const redis = await testRedis();
const client = defineScripts(redis.client());
const logger = pino({ level: 'silent' });
beforeEach(() => client.flushall());

/** A consumer in this process; it ends with its test. */
function consume(t: TestContext, model: SimulatedModel, changes: Partial<ConsumerDeps> = {}) {
  const deps = depsOn(client, [model], { leaseMs: 300, ...changes });
  const giveUp = new AbortController();
  const state = createConsumerState(deps, giveUp.signal);
  const consumer = startConsumer(deps, state, giveUp);
  t.after(async () => {
    giveUp.abort();
    await consumer.drain(0);
  });
  return { consumer, state };
}
const send = async (count: number, name = 'image') => {
  for (let i = 0; i < count; i++) await enqueueOne(client, enqueueRequest({ image: Buffer.from(`${name} ${i}`) }));
};
/** After a flush there is no group until the consumer makes it again: then what is held is not known yet. */
const leftOver = async () => [
  await client.xlen(toyStream),
  await pending(client).then(
    (rows) => rows.length,
    () => -1,
  ),
];
const nothing = ([entries, held]: number[]) => entries === 0 && held === 0;
const toy = { name: 'toy', batch: { simulated: { max: 8, maxWaitMs: 0 } } };

test('claimed tasks that made a consumer sick are all ended once its canary has passed', async (t) => {
  await send(10);
  const entryIds = await deliver(client, 'dead', 10);
  await letGo(client, toyStream, 'dead', entryIds);
  const model = simulatedModel({ failRuns: [1, 2, 3], manifest: toy });
  consume(t, model);
  await until(leftOver, nothing);
  assert.deepEqual(model.journal.runs, Array(11).fill(1));
});

test('a flush while everything is held ends no consumer, and work goes on', async (t) => {
  const latch = createLatch({ held: true });
  const model = simulatedModel({ latch, manifest: toy });
  const { consumer, state } = consume(t, model);
  const ended = { with: undefined as unknown };
  void consumer.failed.then((error) => (ended.with = error));
  await send(16);
  await until(
    () => state.leases.size,
    (held) => held === 16,
  );
  await client.flushall();
  await until(
    () => state.leases.all().filter(({ lost }) => lost).length,
    (lost) => lost === 16,
  );
  latch.release();
  await send(4, 'afterwards');
  await until(leftOver, nothing);
  assert.equal(ended.with, undefined);
  await until(
    () => state.leases.size,
    (held) => held === 0,
  );
});

test('images that are run one by one stay held for as long as that takes', async (t) => {
  // One by one the eight of the second run take longer than a run may.
  const latch = createLatch({ held: true });
  const model = simulatedModel({ latch, baseMs: 250, failRuns: [2], manifest: { ...toy, runLimitMs: 1500 } });
  const { state } = consume(t, model);
  await send(1, 'front');
  await latch.arrived();
  await send(8);
  await until(
    () => state.leases.size,
    (held) => held === 9,
  );
  const other = simulatedModel({ manifest: toy });
  consume(t, other, { consumer: 'two' });
  latch.release();
  await until(leftOver, nothing);
  assert.deepEqual(model.journal.runs, [1, 8, ...Array<number>(8).fill(1)]);
  assert.deepEqual(other.journal.answered, []);
});

test('an entry whose delivery was so slow that another has claimed it meanwhile is not run', async (t) => {
  const proxy = await holdingProxy(redis.port);
  const model = simulatedModel({ manifest: toy });
  const slow = redis.adopt(connectBlocking(proxy.url, { name: 'slow', logger, longestBlockMs: 10_000 }));
  await untilReady(slow, 5000);
  const own = redis.adopt(defineScripts(connectCommands(redis.url, { name: 'own', logger })));
  await untilReady(own, 5000);
  await ensureGroup(client, toyStream);
  const { state } = consume(t, model, { client: own, connectBlocking: () => Promise.resolve(slow) });
  await until(
    () => state.lastReadAt,
    (at) => at > 0,
  );
  proxy.hold();
  await send(1);
  await until(
    async () => (await pending(client)).length,
    (held) => held === 1,
  );
  const rows = await pending(client);
  const deliveredAt = performance.now();
  await until(
    () => performance.now() - deliveredAt,
    (ms) => ms > 400,
  );
  await client.xclaim(toyStream, consumerGroup, 'two', 0, ...rows.map(([id]) => id));
  proxy.release();
  await until(
    () => state.leases.size,
    (held) => held === 0,
  );
  assert.deepEqual(model.journal.runs, []);
  assert.deepEqual(
    (await pending(client)).map(([, name]) => name),
    ['two'],
  );
});

test('while memory is full a waiter can be taken off a task that others wait for', async () => {
  const request = enqueueRequest({ image: Buffer.from('shared') });
  await enqueueOne(client, request);
  await enqueueOne(client, enqueueRequest({ image: Buffer.from('shared') }));
  await client.config('SET', 'maxmemory', '1');
  try {
    const from = { model: 'toy', lane: 'normal', keepResultMs: 1 } as const;
    const cancel = () => leave(client, from, [{ taskId: request.id, reason: 'cancelled' }]);
    assert.deepEqual(await cancel(), [{ how: 'shared' }]);
    assert.equal(await client.hget(toyKeys.task(request.id), 'waiters'), '1');
    assert.equal((await cancel())[0]?.how, 'left');
  } finally {
    await client.config('SET', 'maxmemory', '0');
  }
});
