import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { encodeReplies } from '../../contracts/reply.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { newTaskId } from '../../contracts/task.js';
import { createWaiter, readStored, type WaitEnd } from '../../edge/waiter.js';
import { testRedis } from '../redis.js';
import { resultBytes, toyKeys } from '../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const waiter = createWaiter({ client, now: () => performance.now() });
/** Its clock stands still, so nothing is ever looked for by the way: only what it is told to look for is found. */
const still = createWaiter({ client, now: () => 0 });
after(() => {
  waiter.close();
  still.close();
});
/** Only a broken promise waits so long. */
const long = 15_000;

const reply = (id: string, predictions: string) => encodeReplies([{ id, result: resultBytes(predictions) }]);
const store = (id: string, predictions: string) => client.set(toyKeys.result(id), resultBytes(predictions));

function predictionsOf(end: WaitEnd): string {
  assert.ok(typeof end !== 'string' && end.outcome === 'succeeded', JSON.stringify(end));
  return Buffer.from(end.predictions).toString();
}

test('a reply that comes before anybody asks for the end is kept for it', async () => {
  const id = newTaskId('toy');
  const expectation = waiter.expect(id);
  waiter.receive(reply(id, '["early"]'));
  assert.equal(predictionsOf(await expectation.end(long)), '["early"]');
  assert.equal(waiter.waiting, 0);
});

test('one message answers all that wait for its tasks, and nobody else', async () => {
  const [a, b, c] = [newTaskId('toy'), newTaskId('toy'), newTaskId('toy')] as const;
  const ends = [a, b, b].map((id) => waiter.expect(id).end(long));
  const other = waiter.expect(c);
  waiter.receive(encodeReplies([a, b].map((id) => ({ id, result: resultBytes(`["${id}"]`) }))));
  assert.deepEqual(
    (await Promise.all(ends)).map(predictionsOf),
    [a, b, b].map((id) => `["${id}"]`),
  );
  assert.equal(waiter.waiting, 1);
  other.forget();
  assert.equal(waiter.waiting, 0);
});

test('replies for tasks that nobody waits for, and messages that are none, disturb nothing', async () => {
  const id = newTaskId('toy');
  const end = waiter.expect(id).end(long);
  waiter.receive(reply(newTaskId('toy'), '[]'));
  for (const message of ['', 'garbage', '[["x",99]]\n', `[["${id}",1]]\n`]) waiter.receive(Buffer.from(message));
  assert.equal(waiter.waiting, 1);
  waiter.receive(reply(id, '["whole"]'));
  assert.equal(predictionsOf(await end), '["whole"]');
});

test('the first result counts', async () => {
  const id = newTaskId('toy');
  const expectation = waiter.expect(id);
  waiter.receive(reply(id, '["first"]'));
  waiter.receive(reply(id, '["second"]'));
  assert.equal(predictionsOf(await expectation.end(long)), '["first"]');
});

test('a request that joins finds a result that was there before it joined', async () => {
  const joined = newTaskId('toy');
  await store(joined, '["before"]');
  const expectation = still.expect(newTaskId('toy'));
  expectation.follow(joined);
  assert.equal(predictionsOf(await expectation.end(long)), '["before"]');
  assert.equal(still.waiting, 0);
});

test('a request that joins is answered by the message of the task it joined, not of its own', async () => {
  const [own, joined] = [newTaskId('toy'), newTaskId('toy')];
  const expectation = waiter.expect(own);
  expectation.follow(joined);
  waiter.receive(reply(own, '["own"]'));
  waiter.receive(reply(joined, '["joined"]'));
  assert.equal(predictionsOf(await expectation.end(long)), '["joined"]');
});

test('after a loss of the connection the stored results are read', async () => {
  const ids = Array.from({ length: 50 }, () => newTaskId('toy'));
  const ends = ids.map((id) => still.expect(id).end(long));
  await Promise.all(ids.map((id) => store(id, `["${id}"]`)));
  still.checkAll();
  assert.deepEqual(
    (await Promise.all(ends)).map(predictionsOf),
    ids.map((id) => `["${id}"]`),
  );
});

test('a result whose message never came is found all the same, now and then', async () => {
  const id = newTaskId('toy');
  const end = waiter.expect(id).end(long);
  await store(id, '["found"]');
  assert.equal(predictionsOf(await end), '["found"]');
});

test('a stored result in an unknown form is told as task_unreadable', async () => {
  const id = newTaskId('toy');
  await client.set(toyKeys.result(id), 'from another time');
  const end = waiter.expect(id).end(long);
  waiter.checkAll();
  const result = await end;
  assert.ok(typeof result !== 'string' && result.outcome === 'failed');
  assert.equal(result.code, 'task_unreadable');
});

test('a wait ends at its deadline, also at one that has passed, and nothing stays behind', async () => {
  assert.equal(await waiter.expect(newTaskId('toy')).end(20), 'deadline');
  assert.equal(await waiter.expect(newTaskId('toy')).end(-5), 'deadline');
  assert.equal(waiter.waiting, 0);
});

test('a wait ends when its client goes, or has gone before it began', async () => {
  const going = new AbortController();
  const end = waiter.expect(newTaskId('toy')).end(long, going.signal);
  going.abort();
  assert.equal(await end, 'aborted');
  assert.equal(await waiter.expect(newTaskId('toy')).end(long, AbortSignal.abort()), 'aborted');
  assert.equal(waiter.waiting, 0);
});

test('what was forgotten, twice or after its end, is forgotten once', async () => {
  const kept = waiter.expect(newTaskId('toy'));
  const one = waiter.expect(newTaskId('toy'));
  one.forget();
  one.forget();
  await kept.end(0);
  kept.forget();
  assert.equal(waiter.waiting, 0);
});

test('a result is looked for only where a task id says it can be', async () => {
  assert.equal(await readStored(client, 'nonsense'), null);
  assert.equal(await readStored(client, newTaskId('toy')), null);
});
