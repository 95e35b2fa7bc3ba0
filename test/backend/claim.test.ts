import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { claimSilent, retireDead } from '../../backend/claim.js';
import { consumerGroup, registerKey } from '../../contracts/keys.js';
import { defineScripts, letGo } from '../../contracts/scripts/scripts.js';
import { testRedis } from '../redis.js';
import { deliver, enqueueOne, enqueueRequest, leaveOne, pending, toyStream } from '../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const hour = 3_600_000;
beforeEach(() => client.flushall());

async function send(count: number): Promise<string[]> {
  const requests = Array.from({ length: count }, (_, i) => enqueueRequest({ image: Buffer.from(`image ${i}`) }));
  for (const request of requests) await enqueueOne(client, request);
  return requests.map(({ id }) => id);
}
/** Entries that a consumer got and then fell silent over. */
async function silent(consumer: string, count: number): Promise<string[]> {
  const entryIds = await deliver(client, consumer, count);
  await letGo(client, toyStream, consumer, entryIds);
  return entryIds;
}
const consumers = async () =>
  ((await client.xinfo('CONSUMERS', toyStream, consumerGroup)) as string[][]).map((row) => row[1]);

test('what was silent for a lease is claimed whole, and what is renewed is left alone', async () => {
  await send(5);
  const mine = await deliver(client, 'alive', 2);
  const others = await silent('dead', 3);
  const { entries, deleted } = await claimSilent(client, toyStream, 'one', hour, 10);
  assert.deepEqual(
    entries.map(({ entryId }) => entryId),
    others,
  );
  assert.ok(entries.every(({ fields, stream }) => fields[0] === 'task' && stream === toyStream));
  assert.deepEqual(deleted, []);
  assert.deepEqual(await pending(client), [...mine.map((id) => [id, 'alive']), ...others.map((id) => [id, 'one'])]);
});

test('no more is claimed than was asked for, however much is not silent in front of it', async () => {
  await send(400);
  await deliver(client, 'alive', 350);
  await silent('dead', 50);
  const { entries } = await claimSilent(client, toyStream, 'one', hour, 7);
  assert.equal(entries.length, 7);
  const rest = await claimSilent(client, toyStream, 'two', hour, 100);
  assert.equal(rest.entries.length, 43);
});

test('entries that were deleted while they were pending are told apart, and are pending no longer', async () => {
  await send(3);
  const [, gone = ''] = await silent('dead', 3);
  await client.xdel(toyStream, gone);
  const { entries, deleted } = await claimSilent(client, toyStream, 'one', hour, 10);
  assert.deepEqual([entries.length, deleted], [2, [gone]]);
  assert.equal((await pending(client)).length, 2);
});

test('where there is no stream there is nothing to claim and nobody to retire', async () => {
  assert.deepEqual(await claimSilent(client, toyStream, 'one', 1, 10), { entries: [], deleted: [] });
  assert.deepEqual(await retireDead(client, toyStream, 'one', 1), []);
});

test('a consumer is retired once it is dead and holds nothing, never one that lives, nor oneself', async () => {
  const ids = await send(4);
  const [, , done = ''] = [await deliver(client, 'holding', 1), await deliver(client, 'alive', 1)].flat();
  assert.equal(done, '');
  await client.set(registerKey('alive'), 'it says so');
  const [finished = ''] = await deliver(client, 'finished', 1);
  await leaveOne(client, ids[2] ?? '', { entryId: finished });
  const [own = ''] = await deliver(client, 'one', 1);
  await leaveOne(client, ids[3] ?? '', { entryId: own });
  assert.deepEqual(await retireDead(client, toyStream, 'one', hour), [], 'none has been silent for that long');
  assert.deepEqual(await retireDead(client, toyStream, 'one', 0), ['finished']);
  assert.deepEqual((await consumers()).sort(), ['alive', 'holding', 'one']);
});
