import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { keysLeft, testRedis } from '../../redis.js';
import { enqueueOne, enqueueRequest, leaveOne, toyKeys, toyStream, unlimited, type WantedTask } from '../../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
let number = 0;
beforeEach(() => client.flushall());

const send = (wanted: WantedTask = {}) =>
  enqueueOne(client, enqueueRequest({ image: Buffer.from(`image ${number++}`), ...wanted }));
const admit = async (count: number, wanted: WantedTask = {}) => {
  const ids: string[] = [];
  for (let i = 0; i < count; i++) {
    const enqueued = await send({ tasksPerSecond: 0, ...wanted });
    assert.ok(enqueued.how === 'admitted');
    ids.push(enqueued.id);
  }
  return ids;
};
/** Turns of so many that are shed one after the other. */
const turns = async (count: number, wanted: WantedTask) => {
  const waits: number[] = [];
  for (let i = 0; i < count; i++) {
    const shed = await send(wanted);
    assert.ok(shed.how === 'shed', shed.how);
    waits.push(shed.turnMs);
  }
  return waits;
};

test('a task that would wait for longer than four fifths of its time is shed, and one that would not is admitted', async () => {
  await admit(40);
  const slow = { tasksPerSecond: 10, limits: unlimited };
  assert.deepEqual((await send({ ...slow, timeLeftMs: 5000 })).how, 'admitted');
  const shed = await send({ ...slow, timeLeftMs: 5000 });
  assert.ok(shed.how === 'shed');
  assert.deepEqual([shed.limit, shed.tasks], ['wait', 41]);
  assert.equal((await send({ ...slow, timeLeftMs: 60_000 })).how, 'admitted');
});

test('where the rate is not known nobody is shed for the wait', async () => {
  await admit(200);
  assert.equal((await send({ tasksPerSecond: 0, timeLeftMs: 1 })).how, 'admitted');
});

test('what is shed for the wait leaves nothing but the turn that was given', async () => {
  const [id = ''] = await admit(1);
  const before = await keysLeft(client);
  await turns(1, { tasksPerSecond: 0.01, timeLeftMs: 1000 });
  assert.deepEqual(await keysLeft(client), before);
  assert.ok(Number(await client.hget(toyKeys.load, 'turn')) > 0);
  await leaveOne(client, id);
  assert.deepEqual(await keysLeft(client), [toyStream]);
});

test('turns follow one another at 85 % of the rate, however many are shed', async () => {
  await admit(81);
  // A second's tolerance in all: the clock goes on while they ask.
  const waits = await turns(45, { tasksPerSecond: 10, timeLeftMs: 10_000 });
  const [first = 0, last = 0] = [waits[0], waits.at(-1)];
  assert.ok(Math.abs(first - 1000 / 8.5) < 100, `the first comes after ${first} ms`);
  assert.ok(last > 4000 && last <= 45 * (1000 / 8.5) + 1, `the last comes after ${last} ms`);
  assert.ok(waits.every((wait, i) => i === 0 || wait > (waits[i - 1] ?? 0) - 50));
});

test('whoever may wait for less time than others stand before it is told to come back once they have gone', async () => {
  await admit(80);
  const [wait = 0] = await turns(1, { tasksPerSecond: 10, timeLeftMs: 1000 });
  assert.equal(wait, 8000 - 800);
});

test('those with little time get turns further apart, since all who come within one second come at once', async () => {
  await admit(10);
  const waits = await turns(3, { tasksPerSecond: 10, timeLeftMs: 500 });
  const [, second = 0, third = 0] = waits;
  assert.ok(third - second > 200, `${waits.join()} ms`);
});

test('nobody is told to come back later than in two minutes, and turns do not run further ahead', async () => {
  await admit(50);
  const waits = await turns(300, { tasksPerSecond: 0.5, timeLeftMs: 1000 });
  assert.ok(waits.every((wait) => wait <= 120_000));
});

test('once nothing is admitted any more, turns that were given are forgotten', async () => {
  const ids = await admit(20);
  await turns(50, { tasksPerSecond: 10, timeLeftMs: 1000 });
  for (const id of ids) await leaveOne(client, id);
  await admit(20);
  const [wait = 0] = await turns(1, { tasksPerSecond: 10, timeLeftMs: 2000 });
  assert.ok(wait <= 2000, `${wait} ms`);
});
