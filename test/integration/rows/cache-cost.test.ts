import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Redis } from 'ioredis';
import { simulatedModel } from '../../../backend/model/simulated-model.js';
import { picture } from '../../pictures.js';
import { predict, servedBy, testSystem, until } from '../system.js';
import { commandCalls, moreCalls } from './redis-info.js';

const system = await testSystem();
const requests = 100;
/** Nothing is renewed while this test runs. */
const backendEnv = { SAMPAN_LEASE_MS: '600000' };
const calls = async (client: Redis) => commandCalls(await client.info('commandstats'));

/** What heartbeats, polls and waiting reads call while nobody asks anything; the test's own questions included. */
let background: ReadonlySet<string>;
let urls: Readonly<Record<'on' | 'off', string>>;

before(async () => {
  await system.backend(servedBy(simulatedModel({ manifest: { name: 'cached' } })), backendEnv);
  await system.backend(servedBy(simulatedModel({ manifest: { name: 'uncached' } })), {
    ...backendEnv,
    SAMPAN_CACHE: 'off',
  });
  const [on, off] = await Promise.all([system.edge(), system.edge({ SAMPAN_CACHE: 'off' })]);
  urls = { on: on.url, off: off.url };
  await trafficOf('on', 'warm');
  await trafficOf('off', 'warm');
  const idle = await calls(system.stream);
  // Three heartbeats: all that happens in the background has happened by then.
  const beats = (now: ReadonlyMap<string, number>) => (now.get('zadd') ?? 0) - (idle.get('zadd') ?? 0);
  const later = await until(
    () => calls(system.stream),
    (now) => beats(now) >= 6,
  );
  // A subscription asks now and then whether it still stands.
  background = new Set(['ping', ...Object.keys(moreCalls(idle, later))]);
});

/** Unique pictures, one after the other, so that each one's commands travel alone. */
async function trafficOf(cache: 'on' | 'off', name: string): Promise<void> {
  const model = cache === 'on' ? 'cached' : 'uncached';
  for (let i = 0; i < requests; i++) {
    const answer = await predict(urls[cache], model, picture(`${name}-${i}`));
    assert.deepEqual([answer.status, answer.cache], [200, 'miss']);
  }
}

/** What so much traffic calls on both roles, without what is called anyway. */
async function costOf(cache: 'on' | 'off') {
  const before = await Promise.all([calls(system.stream), calls(system.cache)]);
  await trafficOf(cache, cache);
  // What is remembered is written after the answer is out.
  if (cache === 'on') {
    await until(
      async () => moreCalls(before[1], await calls(system.cache))['set'],
      (sets) => (sets ?? 0) >= requests,
    );
  }
  const [stream, cached] = await Promise.all([calls(system.stream), calls(system.cache)]);
  const own = Object.entries(moreCalls(before[0], stream)).filter(([name]) => !background.has(name));
  const onCache = Object.entries(moreCalls(before[1], cached)).filter(([name]) => name !== 'info');
  return { stream: Object.fromEntries(own), cache: Object.fromEntries(onCache) };
}

test('row 28: unique traffic costs one read and one SET on the cache, and not one command more on the stream', async () => {
  const off = await costOf('off');
  const on = await costOf('on');
  assert.deepEqual(off.cache, {});
  assert.deepEqual(on.cache, { mget: requests, set: requests });
  assert.deepEqual(on.stream, off.stream);
  // What is compared are the commands that a task is made of.
  for (const name of ['mset', 'xadd', 'mget', 'xack', 'xdel', 'spublish'])
    assert.equal(on.stream[name], requests, name);
});
