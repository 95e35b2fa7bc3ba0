import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { enqueue, type Enqueued } from '../../../contracts/scripts/enqueue.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { newTaskId } from '../../../contracts/task.js';
import { keysLeft, testRedis } from '../../redis.js';
import { deliver, enqueueRequest, leaveOne, resultBytes, toyKeys, toyStream, type WantedTask } from '../../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
beforeEach(() => client.flushall());

const send = (wanted: WantedTask = {}) => enqueue(client, enqueueRequest(wanted));
const image = (text: string) => Buffer.from(text);
const limits = (maxTasks: number, maxBytes = 1e9) => ({ maxTasks, maxBytes });

async function admitted(wanted: WantedTask = {}) {
  const enqueued = await send(wanted);
  assert.ok(enqueued.how === 'admitted', JSON.stringify(enqueued));
  return enqueued;
}

async function everything() {
  const keys = await keysLeft(client);
  return Promise.all(keys.map(async (key) => [key, await client.dumpBuffer(key)] as const));
}

test('an admitted task has its entry, its image, its marker and its place in the account', async () => {
  const request = enqueueRequest({ image: image('12345'), tenant: 'a' });
  const enqueued = await enqueue(client, request);
  const [seconds] = await client.time();
  assert.ok(enqueued.how === 'admitted');
  assert.deepEqual([enqueued.id, enqueued.tasks], [request.id, 1]);
  const late = enqueued.deadline - (Number(seconds) * 1000 + request.timeLeftMs);
  assert.ok(late > -5000 && late < 5000, `the deadline is ${late} ms off`);
  assert.equal(await client.xlen(toyStream), 1);
  assert.equal(await client.get(toyKeys.image(request.id)), '12345');
  assert.deepEqual(await client.hgetall(toyKeys.work), { [request.work]: request.id });
  assert.deepEqual(await client.hgetall(toyKeys.load), { count: '1', bytes: '5', 'count:a': '1', 'bytes:a': '5' });
});

test('an image outlives its deadline by a while, and not for ever', async () => {
  const { id } = await admitted({ timeLeftMs: 10_000 });
  const lives = await client.pttl(toyKeys.image(id));
  assert.ok(lives > 10_000 && lives <= 10_000 + 3_600_000, `${lives} ms`);
});

test('equal work joins, whoever asks: one entry, one image, one place in the account', async () => {
  const first = await admitted({ tenant: 'a' });
  for (const tenant of ['a', 'b']) {
    const joined = await send({ tenant });
    assert.deepEqual([joined.how, joined.how !== 'shed' && joined.id, joined.tasks], ['joined', first.id, 1]);
  }
  assert.equal(await client.xlen(toyStream), 1);
  assert.deepEqual(
    (await keysLeft(client)).filter((key) => key.includes(':image:')),
    [toyKeys.image(first.id)],
  );
  assert.equal(await client.hget(toyKeys.load, 'count'), '1');
});

test('the same MD5 with other bytes gets a task of its own and leaves the marker alone', async () => {
  const md5 = '0'.repeat(32);
  const ofA = await admitted({ image: image('a'), md5 });
  const ofB = await admitted({ image: image('b'), md5 });
  assert.notEqual(ofA.id, ofB.id);
  assert.deepEqual(Object.values(await client.hgetall(toyKeys.work)), [ofA.id]);
  assert.equal((await send({ image: image('a'), md5 })).how, 'joined');
  assert.equal((await send({ image: image('b'), md5 })).how, 'admitted');

  await leaveOne(client, ofB.id);
  assert.deepEqual(Object.values(await client.hgetall(toyKeys.work)), [ofA.id], 'the other one took the marker along');
  await leaveOne(client, ofA.id);
  assert.deepEqual(await client.hgetall(toyKeys.work), {});
});

test('joining extends the deadline and never shortens it', async () => {
  const { id, deadline } = await admitted({ timeLeftMs: 20_000 });
  const stored = async () => Number(await client.hget(toyKeys.task(id), 'deadline'));
  const livesBefore = await client.pttl(toyKeys.image(id));
  assert.equal(await stored(), deadline);

  await send({ timeLeftMs: 1_000 });
  assert.equal(await stored(), deadline);
  assert.ok((await client.pttl(toyKeys.image(id))) > livesBefore - 10_000);

  await send({ timeLeftMs: 50_000 });
  assert.ok((await stored()) >= deadline + 30_000);
  assert.ok((await client.pttl(toyKeys.image(id))) > livesBefore + 20_000, 'the image would expire before its task');
});

test('every edge is told once, however many of its requests joined', async () => {
  const { id } = await admitted({ edge: 'edge-1' });
  // edge-1 is a part of edge-10, which must not count as told.
  for (const edge of ['edge-10', 'edge-1', 'dge-1', 'edge-10', 'edge-2']) await send({ edge });
  assert.deepEqual(await leaveOne(client, id), { how: 'left', edges: ['edge-1', 'edge-10', 'dge-1', 'edge-2'] });
});

test('waiters are counted: a cancelled task leaves with the last of them', async () => {
  const { id } = await admitted();
  for (let i = 0; i < 3; i++) await send();
  const ends: string[] = [];
  for (let i = 0; i < 5; i++) ends.push((await leaveOne(client, id, { reason: 'cancelled' })).how);
  assert.deepEqual(ends, ['shared', 'shared', 'shared', 'left', 'gone']);
});

test('a command that was sent again changes nothing, neither at once nor later', async () => {
  const request = enqueueRequest();
  await enqueue(client, request);
  await enqueueRequestOfAnother();
  const before = await everything();
  const again = await enqueue(client, request);
  assert.deepEqual([again.how, again.how !== 'shed' && again.id, again.tasks], ['admitted', request.id, 2]);
  // The image is written again, with the same bytes.
  assert.deepEqual(await everything(), before);
});

async function enqueueRequestOfAnother(): Promise<void> {
  await admitted({ image: image('another') });
}

test('a command sent again after its task has left changes nothing, and leaves no image', async () => {
  const request = enqueueRequest();
  await enqueue(client, request);
  await leaveOne(client, request.id, { result: resultBytes() });
  const before = await everything();
  assert.equal((await enqueue(client, request)).how, 'admitted');
  assert.deepEqual(await everything(), before);
  assert.deepEqual(await keysLeft(client), [toyKeys.result(request.id), toyStream].sort());
});

test('a command sent again while other bytes of its MD5 are in flight changes nothing', async () => {
  const md5 = '0'.repeat(32);
  await admitted({ image: image('a'), md5 });
  const request = enqueueRequest({ image: image('b'), md5 });
  await enqueue(client, request);
  const before = await everything();
  assert.equal((await enqueue(client, request)).how, 'admitted');
  assert.deepEqual(await everything(), before);
});

const shedBy = (enqueued: Enqueued) => (enqueued.how === 'shed' ? enqueued.limit : enqueued.how);

test('the limit of tasks is exact, and room that is made is used', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await admitted({ image: image(`${i}`), limits: limits(3) })).id);
  assert.deepEqual(await send({ image: image('3'), limits: limits(3) }), { how: 'shed', limit: 'count', tasks: 3 });
  await leaveOne(client, ids[1] ?? '');
  assert.equal((await send({ image: image('4'), limits: limits(3) })).how, 'admitted');
  assert.equal(shedBy(await send({ image: image('5'), limits: limits(3) })), 'count');
});

test('the limit of bytes is exact, and a smaller image still fits', async () => {
  await admitted({ image: Buffer.alloc(60, 1), limits: limits(10, 100) });
  assert.equal(shedBy(await send({ image: Buffer.alloc(41, 2), limits: limits(10, 100) })), 'bytes');
  await admitted({ image: Buffer.alloc(40, 3), limits: limits(10, 100) });
  assert.equal(shedBy(await send({ image: image('x'), limits: limits(10, 100) })), 'bytes');
});

test('what is shed leaves nothing behind, and the next of its kind is a task like any other', async () => {
  await admitted({ image: image('first') });
  const before = await everything();
  for (const limit of [limits(1), limits(10, 6)]) {
    assert.equal((await send({ image: image('second'), limits: limit })).how, 'shed');
    assert.deepEqual(await everything(), before);
  }
  await admitted({ image: image('second') });
});

test('what joins is never shed: it costs nothing more', async () => {
  await admitted({ limits: limits(1) });
  assert.equal((await send({ limits: limits(1, 1) })).how, 'joined');
});

test('models do not share an account, a marker or a stream', async () => {
  await admitted({ model: 'toy', limits: limits(1) });
  await admitted({ model: 'boy', limits: limits(1) });
  assert.equal(shedBy(await send({ model: 'boy', image: image('x'), limits: limits(1) })), 'count');
});

test('a marker whose task was lost stands in nobody’s way', async () => {
  const { id } = await admitted();
  await client.del(toyKeys.task(id));
  const next = await admitted();
  assert.notEqual(next.id, id);
  await deliver(client, 'one', 10);
  assert.equal((await leaveOne(client, next.id)).how, 'left');
});

test('an id that is a part of another stays apart from it', async () => {
  const id = newTaskId('toy');
  await admitted({ id, image: image('a') });
  await admitted({ id: `${id.slice(0, -1)}${id.endsWith('0') ? '1' : '0'}`, image: image('b') });
  assert.equal(await client.hget(toyKeys.load, 'count'), '2');
});
