import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { decodeDeadLetter } from '../../../contracts/dead-letter.js';
import { consumerGroup } from '../../../contracts/keys.js';
import { leave } from '../../../contracts/scripts/leave.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { connectCommands, untilReady } from '../../../infra/process/redis-connection.js';
import { keysLeft, testRedis } from '../../redis.js';
import {
  enqueueOne,
  deadLetterOf,
  deliver,
  enqueueRequest,
  leaveOne,
  pending,
  resultBytes,
  toyKeys,
  toyStream,
  type WantedTask,
} from '../../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
beforeEach(() => client.flushall());

async function inFlight(wanted: WantedTask = {}): Promise<string> {
  const request = enqueueRequest(wanted);
  await enqueueOne(client, request);
  return request.id;
}

const lane = { model: 'toy', lane: 'normal', keepResultMs: 60_000 } as const;

for (const reason of ['succeeded', 'failed', 'cancelled', 'expired'] as const) {
  test(`a task that ${reason} leaves whole: acked, deleted, image, marker and account gone`, async () => {
    const taskId = await inFlight();
    const [entryId = ''] = await deliver(client, 'one', 1);
    assert.deepEqual(await leaveOne(client, taskId, { reason, entryId }), { how: 'left', edges: ['edge-1'] });
    assert.deepEqual(await keysLeft(client), [toyStream]);
    assert.deepEqual([await client.xlen(toyStream), await pending(client)], [0, []]);
  });
}

test('a dead task leaves a letter and its image behind, both for as long as the retention says, and nothing else', async () => {
  const taskId = await inFlight({ image: Buffer.from('deadly') });
  const [entryId = ''] = await deliver(client, 'one', 1);
  const deadLetter = deadLetterOf(taskId);
  const dead = { taskId, entryId, reason: 'dead', deadLetter, result: resultBytes() } as const;
  const bystander = { taskId: await inFlight({ image: Buffer.from('bystander') }), reason: 'failed' } as const;
  const ends = await leave(client, { ...lane, keepDeadMs: 90_000 }, [bystander, dead]);
  assert.deepEqual(
    ends.map(({ how }) => how),
    ['left', 'left'],
  );
  const kept = [toyKeys.dead, toyKeys.image(taskId), toyKeys.result(taskId), toyStream];
  assert.deepEqual(await keysLeft(client), kept.sort());
  const letters = (await client.xrange(toyKeys.dead, '-', '+')).map(([, fields]) => decodeDeadLetter(fields));
  assert.deepEqual(letters, [deadLetter]);
  assert.equal(await client.get(toyKeys.image(taskId)), 'deadly');
  for (const key of [toyKeys.dead, toyKeys.image(taskId)]) {
    const lives = await client.pttl(key);
    assert.ok(lives > 80_000 && lives <= 90_000, `${key} lives for ${lives} ms`);
  }
  assert.deepEqual([await client.xlen(toyStream), await pending(client)], [0, []]);
});

test('a second finisher of a dead task takes neither its letter nor its image away', async () => {
  const taskId = await inFlight();
  const [entryId = ''] = await deliver(client, 'one', 1);
  await leaveOne(client, taskId, { reason: 'dead', entryId });
  assert.deepEqual(await leaveOne(client, taskId, { entryId, result: resultBytes() }), { how: 'gone' });
  assert.deepEqual(await keysLeft(client), [toyKeys.dead, toyKeys.image(taskId), toyStream].sort());
});

test('letters that are older than the retention go when another comes', async () => {
  await client.xadd(toyKeys.dead, '1-1', 'letter', 'an old one');
  await client.xadd(toyKeys.dead, '2-1', 'letter', 'another');
  for (const text of ['one', 'two']) {
    await leaveOne(client, await inFlight({ image: Buffer.from(text) }), { reason: 'dead' });
  }
  const letters = await client.xrange(toyKeys.dead, '-', '+');
  assert.ok(letters.every(([id]) => Number.parseInt(id, 10) > 1_000_000));
  assert.equal(letters.length, 2);
});

test('a task leaves the queue before it was delivered, as after', async () => {
  const waiting = await inFlight();
  assert.equal((await leaveOne(client, waiting, { reason: 'cancelled' })).how, 'left');
  assert.deepEqual(await deliver(client, 'one', 10), []);
});

test('the result is stored as it is, for as long as was asked', async () => {
  const taskId = await inFlight();
  await leaveOne(client, taskId, { result: resultBytes('["first"]') });
  assert.deepEqual(await client.getBuffer(toyKeys.result(taskId)), resultBytes('["first"]'));
  const lives = await client.pttl(toyKeys.result(taskId));
  assert.ok(lives > 50_000 && lives <= 60_000, `${lives} ms`);
});

test('the second finisher finds the task gone and changes nothing', async () => {
  const taskId = await inFlight();
  const [entryId = ''] = await deliver(client, 'one', 1);
  await inFlight({ image: Buffer.from('bystander') });
  await leaveOne(client, taskId, { entryId, result: resultBytes('["first"]') });
  const before = await Promise.all((await keysLeft(client)).map((key) => client.dumpBuffer(key)));
  for (const reason of ['succeeded', 'failed', 'cancelled', 'expired'] as const) {
    assert.deepEqual(await leaveOne(client, taskId, { reason, entryId, result: resultBytes('["second"]') }), {
      how: 'gone',
    });
  }
  assert.deepEqual(await Promise.all((await keysLeft(client)).map((key) => client.dumpBuffer(key))), before);
});

test('a batch leaves in one call, each with its own end, in order', async () => {
  const ids = await Promise.all(
    ['a', 'b', 'c', 'd'].map((text) => inFlight({ image: Buffer.from(text), tenant: text })),
  );
  const [a = '', b = '', c = '', d = ''] = ids;
  await enqueueOne(client, enqueueRequest({ image: Buffer.from('b'), edge: 'edge-2' }));
  await enqueueOne(client, enqueueRequest({ image: Buffer.from('d') }));
  await leaveOne(client, c);
  const ends = await leave(client, lane, [
    { taskId: a, reason: 'succeeded', result: resultBytes('["a"]') },
    { taskId: b, reason: 'failed', result: resultBytes('["b"]') },
    { taskId: c, reason: 'succeeded', result: resultBytes('["c"]') },
    { taskId: d, reason: 'cancelled' },
    { taskId: a, reason: 'succeeded', result: resultBytes('["again"]') },
  ]);
  const [left, gone, shared] = [(...edges: string[]) => ({ how: 'left', edges }), { how: 'gone' }, { how: 'shared' }];
  assert.deepEqual(ends, [left('edge-1'), left('edge-1', 'edge-2'), gone, shared, gone]);
  assert.deepEqual(await client.hgetall(toyKeys.load), {
    count: '1',
    bytes: '1',
    admitted: '4',
    'count:d': '1',
    'bytes:d': '1',
  });
  assert.deepEqual(await client.getBuffer(toyKeys.result(a)), resultBytes('["a"]'));
  assert.equal(await client.exists(toyKeys.result(c)), 0);
});

test('two thousand tasks leave in one call', async () => {
  const ids = await Promise.all(Array.from({ length: 2000 }, (_, i) => inFlight({ image: Buffer.from(`${i}`) })));
  const ends = await leave(
    client,
    lane,
    ids.map((taskId) => ({ taskId, reason: 'succeeded' })),
  );
  assert.deepEqual([ends.length, new Set(ends.map(({ how }) => how))], [2000, new Set(['left'])]);
  assert.deepEqual(await keysLeft(client), [toyStream]);
  assert.deepEqual(await leave(client, lane, []), []);
});

test('a task whose entry was deleted by hand still leaves once, and cleans up', async () => {
  const taskId = await inFlight();
  const [entryId = ''] = await deliver(client, 'one', 1);
  await client.xdel(toyStream, entryId);
  assert.equal((await leaveOne(client, taskId, { entryId, result: resultBytes() })).how, 'left');
  assert.equal((await leaveOne(client, taskId, { entryId, result: resultBytes() })).how, 'gone');
  assert.deepEqual(await keysLeft(client), [toyKeys.result(taskId), toyStream].sort());
  assert.deepEqual(await pending(client), []);
});

test('row 15: an entry of a task that has left is acked and deleted when it is delivered again', async () => {
  const taskId = await inFlight();
  await deliver(client, 'one', 1);
  const [[, fields] = ['', []]] = await client.xrange(toyStream, '-', '+');
  await leaveOne(client, taskId, { result: resultBytes('["first"]') });
  await client.xadd(toyStream, '*', ...fields);
  const [again = ''] = await deliver(client, 'two', 1);
  assert.deepEqual(await leaveOne(client, taskId, { entryId: again, result: resultBytes('["second"]') }), {
    how: 'gone',
  });
  assert.deepEqual([await client.xlen(toyStream), await pending(client)], [0, []]);
  assert.deepEqual(await client.getBuffer(toyKeys.result(taskId)), resultBytes('["first"]'));
});

test('tasks of two tenants leave from the account of each', async () => {
  const ofA = await inFlight({ tenant: 'a', image: Buffer.from('123') });
  const ofB = await inFlight({ tenant: 'b', image: Buffer.from('12345') });
  await leaveOne(client, ofA);
  assert.deepEqual(await client.hgetall(toyKeys.load), {
    count: '1',
    bytes: '5',
    admitted: '2',
    'count:b': '1',
    'bytes:b': '5',
  });
  await leaveOne(client, ofB);
  assert.equal(await client.exists(toyKeys.load), 0);
});

test('two clients that race to end the same 200 tasks end each exactly once', async () => {
  const other = defineScripts(redis.client());
  const ids = await Promise.all(Array.from({ length: 200 }, (_, i) => inFlight({ image: Buffer.from(`${i}`) })));
  const ends = await Promise.all(
    ids.map((taskId) => Promise.all([client, other].map((one) => leaveOne(one, taskId, { result: resultBytes() })))),
  );
  for (const pair of ends) assert.deepEqual(pair.map(({ how }) => how).sort(), ['gone', 'left']);
  assert.equal(await client.exists(toyKeys.load), 0);
});

test('scripts that Redis forgot are sent again, also from within a pipeline', async () => {
  const quiet = { info: () => undefined, warn: () => undefined };
  const piping = redis.adopt(defineScripts(connectCommands(redis.url, { name: 'test', logger: quiet })));
  await untilReady(piping, 10_000);
  for (let round = 0; round < 5; round++) {
    await client.script('FLUSH');
    const requests = Array.from({ length: 8 }, (_, i) => enqueueRequest({ image: Buffer.from(`${round} ${i}`) }));
    const enqueued = await Promise.all(requests.map((request) => enqueueOne(piping, request)));
    assert.deepEqual([...new Set(enqueued.map(({ how }) => how))], ['admitted']);
    await client.script('FLUSH');
    const ends = await Promise.all(requests.map(({ id }) => leaveOne(piping, id)));
    assert.deepEqual([...new Set(ends.map(({ how }) => how))], ['left']);
  }
  assert.deepEqual(await keysLeft(client), [toyStream]);
});

test('no group is needed to leave', async () => {
  const taskId = await inFlight();
  assert.equal(((await client.xinfo('GROUPS', toyStream)) as unknown[]).length, 0, consumerGroup);
  assert.equal((await leaveOne(client, taskId)).how, 'left');
});

test('a result is kept for as long as its task asks for, and others of the batch for as long as the call says', async () => {
  const [kept, other] = [await inFlight(), await inFlight({ image: Buffer.from('other') })];
  await client.hset(toyKeys.task(kept), 'keep', '3600000');
  await leave(client, lane, [
    { taskId: kept, reason: 'succeeded', result: resultBytes() },
    { taskId: other, reason: 'succeeded', result: resultBytes() },
  ]);
  assert.ok((await client.pttl(toyKeys.result(kept))) > 3_500_000);
  assert.ok((await client.pttl(toyKeys.result(other))) <= lane.keepResultMs);
});
