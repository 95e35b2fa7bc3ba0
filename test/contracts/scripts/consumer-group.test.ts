import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { consumerGroup } from '../../../contracts/keys.js';
import { defineScripts, discardEntry, letGo, renew, retire, startSolo } from '../../../contracts/scripts/scripts.js';
import { testRedis } from '../../redis.js';
import { enqueueOne, deliver, enqueueRequest, leaveOne, pending, toyKeys, toyStream } from '../../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
beforeEach(() => client.flushall());

async function send(count: number): Promise<string[]> {
  const requests = Array.from({ length: count }, (_, i) => enqueueRequest({ image: Buffer.from(`image ${i}`) }));
  for (const request of requests) await enqueueOne(client, request);
  return requests.map(({ id }) => id);
}

const hour = 3_600_000;
/** Makes entries look as if they had been silent for an hour. */
const letLieFor = (consumer: string, ids: readonly string[]) =>
  client.call('XCLAIM', toyStream, consumerGroup, consumer, '0', ...ids, 'IDLE', String(hour), 'JUSTID');
const rows = async () =>
  (await client.xpending(toyStream, consumerGroup, '-', '+', 100)) as [string, string, number, number][];

test('renewing restarts the lease of what is ours, and counts no delivery', async () => {
  await send(3);
  const ids = await deliver(client, 'one', 3);
  await letLieFor('one', ids);
  assert.ok((await rows()).every(([, , idle]) => idle >= hour));
  assert.deepEqual(await renew(client, toyStream, 'one', ids), ids);
  for (const [, consumer, idle, deliveries] of await rows()) {
    assert.equal(consumer, 'one');
    assert.ok(idle < hour, `idle for ${idle} ms`);
    assert.equal(deliveries, 1);
  }
});

test('an entry that another consumer claimed is not stolen back', async () => {
  await send(2);
  const [claimed = '', kept = ''] = await deliver(client, 'one', 2);
  await client.xclaim(toyStream, consumerGroup, 'two', 0, claimed);
  await letLieFor('two', [claimed]);
  assert.deepEqual(await renew(client, toyStream, 'one', [claimed, kept]), [kept]);
  assert.deepEqual(await pending(client), [
    [claimed, 'two'],
    [kept, 'one'],
  ]);
  assert.ok(
    (await rows()).some(([id, , idle]) => id === claimed && idle >= hour),
    "the other's lease was restarted",
  );
});

test('what has left, was never delivered or never existed is not renewed', async () => {
  const [leaves = ''] = await send(1);
  const [entryId = ''] = await deliver(client, 'one', 1);
  await leaveOne(client, leaves, { entryId });
  await send(2);
  const [, waiting = ''] = (await client.xrange(toyStream, '-', '+')).map(([id]) => id);
  assert.deepEqual(await renew(client, toyStream, 'one', [entryId, waiting, '1-1']), []);
  assert.deepEqual(await pending(client), []);
});

test('what is let go may be claimed at once, and only by letting go of what is ours', async () => {
  await send(2);
  const [mine = '', other = ''] = await deliver(client, 'one', 2);
  await client.xclaim(toyStream, consumerGroup, 'two', 0, other);
  assert.deepEqual(await letGo(client, toyStream, 'one', [mine, other]), [mine]);
  const silentFor = new Map((await rows()).map(([id, , idle]) => [id, idle]));
  assert.ok((silentFor.get(mine) ?? 0) >= hour);
  assert.ok((silentFor.get(other) ?? hour) < hour);
});

test('after a flush nothing is ours any more, and asking for it is no error', async () => {
  const [taskId = ''] = await send(1);
  const [entryId = ''] = await deliver(client, 'one', 1);
  const held = { stream: toyStream, task: toyKeys.task(taskId), consumer: 'one', entryId };
  await client.xgroup('DESTROY', toyStream, consumerGroup);
  assert.deepEqual(await renew(client, toyStream, 'one', [entryId]), []);
  assert.deepEqual(await startSolo(client, held, 2), { how: 'lost' });
  await client.flushall();
  assert.deepEqual(await renew(client, toyStream, 'one', [entryId]), []);
  assert.deepEqual(await startSolo(client, held, 2), { how: 'gone' });
});

test('solo starts are counted up to the most that are allowed, and a consumer may start only what is its own', async () => {
  const [taskId = ''] = await send(1);
  const [entryId = ''] = await deliver(client, 'one', 1);
  const start = (consumer: string) =>
    startSolo(client, { stream: toyStream, task: toyKeys.task(taskId), consumer, entryId }, 2);
  assert.deepEqual(await start('two'), { how: 'lost' });
  assert.deepEqual(await start('one'), { how: 'started', starts: 1, deliveries: 1 });
  // Sent again, since the reply was lost.
  assert.deepEqual(await start('one'), { how: 'started', starts: 1, deliveries: 1 });
  await client.xclaim(toyStream, consumerGroup, 'two', 0, entryId);
  assert.deepEqual(await start('one'), { how: 'lost' });
  assert.deepEqual(await start('two'), { how: 'started', starts: 2, deliveries: 2 });
  await client.xclaim(toyStream, consumerGroup, 'three', 0, entryId);
  assert.deepEqual(await start('three'), { how: 'over', starts: 2, deliveries: 3 });
  await leaveOne(client, taskId, { entryId });
  assert.deepEqual(await start('three'), { how: 'gone' });
});

test('where memory is full a solo start is counted all the same', async () => {
  const [taskId = ''] = await send(1);
  const [entryId = ''] = await deliver(client, 'one', 1);
  const held = { stream: toyStream, task: toyKeys.task(taskId), consumer: 'one', entryId };
  await client.config('SET', 'maxmemory', '1');
  try {
    assert.equal((await startSolo(client, held, 2)).how, 'started');
    assert.deepEqual(await renew(client, toyStream, 'one', [entryId]), [entryId]);
  } finally {
    await client.config('SET', 'maxmemory', '0');
  }
});

test('a consumer retires once it holds nothing, and its entries are not discarded before', async () => {
  const [taskId = ''] = await send(1);
  const [entryId = ''] = await deliver(client, 'one', 1);
  assert.equal(await retire(client, toyStream, 'one'), false);
  assert.deepEqual(await pending(client), [[entryId, 'one']]);
  await leaveOne(client, taskId, { entryId });
  assert.equal(await retire(client, toyStream, 'one'), true);
  assert.deepEqual(await client.xinfo('CONSUMERS', toyStream, consumerGroup), []);
});

test("retiring leaves others' entries alone", async () => {
  await send(2);
  await deliver(client, 'one', 1);
  const [entryId = ''] = await deliver(client, 'two', 1);
  await client.xack(toyStream, consumerGroup, (await rows())[0]?.[0] ?? '');
  assert.equal(await retire(client, toyStream, 'one'), true);
  assert.deepEqual(await pending(client), [[entryId, 'two']]);
});

test('a consumer that Redis does not know, or a stream that is gone, retires at once', async () => {
  await send(1);
  await deliver(client, 'one', 1);
  assert.equal(await retire(client, toyStream, 'stranger'), true);
  await client.flushall();
  assert.equal(await retire(client, toyStream, 'one'), true);
});

test('an entry that names no task is acked and deleted, alone', async () => {
  await client.xadd(toyStream, '*', 'what', 'ever');
  await send(1);
  const [strange = '', entryId = ''] = await deliver(client, 'one', 2);
  await discardEntry(client, toyStream, strange);
  assert.deepEqual(await pending(client), [[entryId, 'one']]);
  assert.deepEqual(
    (await client.xrange(toyStream, '-', '+')).map(([id]) => id),
    [entryId],
  );
});
