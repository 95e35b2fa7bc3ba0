import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { partitionKeys } from '../../contracts/keys.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { createProducer } from '../../edge/producer.js';
import { testRedis } from '../redis.js';
import { enqueueRequest, idsIn, toyStream, unlimited, type WantedTask } from '../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const tasksPerSecond = () => 0;
const share = { shareMs: 2000, timeoutMs: 10_000 };
const common = { client, edge: 'edge-1', share, tasksPerSecond, nextTurn: setImmediate };
const producer = createProducer({ ...common, limits: unlimited });
beforeEach(async () => {
  await client.flushall();
  await client.config('RESETSTAT');
});

const send = (wanted: WantedTask) => producer.enqueue(enqueueRequest(wanted));
const transactions = async () => Number(/cmdstat_exec:calls=(\d+)/.exec(await client.info('commandstats'))?.[1] ?? 0);
const images = (count: number, bytes = 10) =>
  Array.from({ length: count }, (_, i) => Buffer.concat([Buffer.from(`${i} `), Buffer.alloc(bytes)]));

test('what is sent within one turn travels in one transaction, in order, and each learns its own fate', async () => {
  const requests = images(50).map((image) => enqueueRequest({ image }));
  const enqueued = await Promise.all(requests.map((request) => producer.enqueue(request)));
  assert.equal(await transactions(), 1);
  assert.deepEqual(
    enqueued.map((each) => each.how !== 'shed' && each.id),
    requests.map(({ id }) => id),
  );
  assert.deepEqual(
    idsIn(await client.xrange(toyStream, '-', '+')),
    requests.map(({ id }) => id),
  );
});

test('equal work within one turn joins as it would in two', async () => {
  const enqueued = await Promise.all([send({}), send({}), send({})]);
  assert.deepEqual(
    enqueued.map(({ how }) => how),
    ['admitted', 'joined', 'joined'],
  );
  assert.equal(await client.xlen(toyStream), 1);
});

test('what comes in another turn travels in another transaction', async () => {
  await send({ image: Buffer.from('a') });
  await send({ image: Buffer.from('b') });
  assert.equal(await transactions(), 2);
});

test('models do not mix: each has its own stream and slot', async () => {
  await Promise.all(images(6).map((image, i) => send({ image, model: i % 2 ? 'toy' : 'boy' })));
  assert.equal(await transactions(), 2);
  for (const model of ['toy', 'boy']) assert.equal(await client.xlen(partitionKeys(model).tasks('normal')), 3);
});

test('a transaction is bounded by its tasks and by its bytes, so that Redis answers others in between', async () => {
  await Promise.all(images(300).map((image) => send({ image })));
  assert.equal(await transactions(), 3);
  await client.config('RESETSTAT');
  const million = 1_000_000;
  await Promise.all(images(9, million).map((image) => send({ image, model: 'boy' })));
  assert.equal(await transactions(), 3);
  assert.equal(await client.xlen(partitionKeys('boy').tasks('normal')), 9);
});

test('limits hold within one turn as they do between turns', async () => {
  const limits = { maxTasks: 3, maxBytes: 1e9 };
  const narrow = createProducer({ ...common, limits });
  const enqueued = await Promise.all(images(5).map((image) => narrow.enqueue(enqueueRequest({ image }))));
  assert.deepEqual(
    enqueued.map(({ how }) => how),
    ['admitted', 'admitted', 'admitted', 'shed', 'shed'],
  );
  assert.equal(await client.hget(partitionKeys('toy').load, 'count'), '3');
});

test('what Redis refuses is refused to all that travelled together, and to nobody else', async () => {
  await client.set(partitionKeys('toy').work, 'not a hash');
  const refused = await Promise.allSettled(images(3).map((image) => send({ image })));
  assert.deepEqual(
    refused.map(({ status }) => status),
    ['rejected', 'rejected', 'rejected'],
  );
  assert.equal((await send({ model: 'boy' })).how, 'admitted');
});
