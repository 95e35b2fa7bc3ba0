import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { enqueue, type Enqueued } from '../../../contracts/scripts/enqueue.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { newTaskId } from '../../../contracts/task.js';
import { keysLeft, testRedis } from '../../redis.js';
import {
  enqueueOne,
  deliver,
  enqueueRequest,
  leaveOne,
  resultBytes,
  toyKeys,
  toyStream,
  type WantedTask,
} from '../../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
beforeEach(() => client.flushall());

const send = (wanted: WantedTask = {}) => enqueueOne(client, enqueueRequest(wanted));
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
  const enqueued = await enqueueOne(client, request);
  const [seconds] = await client.time();
  assert.ok(enqueued.how === 'admitted');
  assert.deepEqual([enqueued.id, enqueued.tasks], [request.id, 1]);
  const late = enqueued.deadline - (Number(seconds) * 1000 + request.timeLeftMs);
  assert.ok(late > -5000 && late < 5000, `the deadline is ${late} ms off`);
  assert.equal(await client.xlen(toyStream), 1);
  assert.equal(await client.get(toyKeys.image(request.id)), '12345');
  assert.deepEqual(await client.hgetall(toyKeys.work), { [request.work]: request.id });
  assert.deepEqual(await client.hgetall(toyKeys.load), {
    count: '1',
    bytes: '5',
    admitted: '1',
    'count:a': '1',
    'bytes:a': '5',
  });
});

test('tasks that are sent together each get their own answer, equal ones join within the call', async () => {
  const requests = ['a', 'b', 'a', 'c'].map((text) => enqueueRequest({ image: image(text), limits: limits(2) }));
  const to = { model: 'toy', lane: 'normal', edge: 'edge-1', limits: limits(2), tasksPerSecond: 0 } as const;
  const enqueued = await enqueue(client, to, requests);
  assert.deepEqual(
    enqueued.map((each) => (each.how === 'shed' ? [each.how, each.limit] : [each.how, each.id])),
    [
      ['admitted', requests[0]?.id],
      ['admitted', requests[1]?.id],
      ['joined', requests[0]?.id],
      ['shed', 'count'],
    ],
  );
  assert.equal(await client.hget(toyKeys.load, 'count'), '2');
  assert.deepEqual(
    (await keysLeft(client)).filter((key) => key.includes(':image:')),
    [toyKeys.image(requests[0]?.id ?? ''), toyKeys.image(requests[1]?.id ?? '')].sort(),
  );
});

test('a script that the server has forgotten is loaded again', async () => {
  await admitted({ image: image('before') });
  await client.script('FLUSH');
  await admitted({ image: image('after') });
  assert.equal(await client.hget(toyKeys.load, 'count'), '2');
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
  assert.equal(await stored(), deadline);

  await send({ timeLeftMs: 1_000 });
  assert.equal(await stored(), deadline);

  await send({ timeLeftMs: 50_000 });
  assert.ok((await stored()) >= deadline + 30_000);
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

test('row 11: a command that was sent again changes nothing, neither at once nor later', async () => {
  const request = enqueueRequest();
  await enqueueOne(client, request);
  await enqueueRequestOfAnother();
  const before = await everything();
  const again = await enqueueOne(client, request);
  assert.deepEqual([again.how, again.how !== 'shed' && again.id, again.tasks], ['admitted', request.id, 2]);
  // The image is written again, with the same bytes.
  assert.deepEqual(await everything(), before);
});

async function enqueueRequestOfAnother(): Promise<void> {
  await admitted({ image: image('another') });
}

test('row 11: a command sent again after its task has left changes nothing, and leaves no image', async () => {
  const request = enqueueRequest();
  await enqueueOne(client, request);
  await leaveOne(client, request.id, { result: resultBytes() });
  const before = await everything();
  assert.equal((await enqueueOne(client, request)).how, 'admitted');
  assert.deepEqual(await everything(), before);
  assert.deepEqual(await keysLeft(client), [toyKeys.result(request.id), toyStream].sort());
});

test('a command sent again while other bytes of its MD5 are in flight changes nothing', async () => {
  const md5 = '0'.repeat(32);
  await admitted({ image: image('a'), md5 });
  const request = enqueueRequest({ image: image('b'), md5 });
  await enqueueOne(client, request);
  const before = await everything();
  assert.equal((await enqueueOne(client, request)).how, 'admitted');
  assert.deepEqual(await everything(), before);
});

const shedBy = (enqueued: Enqueued) => (enqueued.how === 'shed' ? enqueued.limit : enqueued.how);

test('the limit of tasks is exact, and room that is made is used', async () => {
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await admitted({ image: image(`${i}`), limits: limits(3) })).id);
  assert.deepEqual(await send({ image: image('3'), limits: limits(3) }), {
    how: 'shed',
    limit: 'count',
    tasks: 3,
    turnMs: 0,
  });
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

test('joining a task whose hash is damaged does not harm the others of the same call', async () => {
  const sick = await admitted({ image: image('sick') });
  await client.hdel(toyKeys.task(sick.id), 'edges', 'deadline');
  const requests = ['before', 'sick', 'behind'].map((text) => enqueueRequest({ image: image(text) }));
  const to = { model: 'toy', lane: 'normal', edge: 'edge-1', limits: limits(10), tasksPerSecond: 0 } as const;
  const enqueued = await enqueue(client, to, requests);
  assert.deepEqual(
    enqueued.map(({ how }) => how),
    ['admitted', 'joined', 'admitted'],
  );
  assert.equal(await client.hget(toyKeys.load, 'count'), '3');
});
