import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { createConsumerState } from '../../backend/consumer.js';
import { executeBatch, type Outcome } from '../../backend/executor.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { settleHeld } from '../../backend/settle-held.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { holdingProxy } from '../holding-proxy.js';
import { testRedis } from '../redis.js';
import { deliver, enqueueOne, enqueueRequest, pending, toyKeys, toyStream } from '../tasks.js';
import { depsOn, readyTask } from './deliveries.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const proxy = await holdingProxy(redis.port);
const slow = defineScripts(redis.adopt(new Redis(proxy.url)));
const model = simulatedModel({ manifest: { name: 'toy' } });
beforeEach(() => client.flushall());

/** A consumer's state that holds so many tasks which have been inferred, and their outcomes. */
async function holding(own: Redis, count: number) {
  const deps = depsOn(own, [model]);
  const state = createConsumerState(deps, new AbortController().signal);
  const held = state.holdings.get('toy') ?? assert.fail();
  const outcomes: Outcome[] = [];
  for (let i = 0; i < count; i++) {
    const request = enqueueRequest({ image: Buffer.from(`image ${i}`) });
    await enqueueOne(client, request);
    const [entryId = ''] = await deliver(client, 'one', 1);
    const lease = state.leases.take(toyStream, entryId, deps.now()) ?? assert.fail();
    const task = { ...readyTask(model, 'x', { taskId: request.id, entryId, lease }), spec: request.spec };
    const now = () => 0;
    outcomes.push(...(await executeBatch(model, [task], { now, memory: now })).outcomes);
  }
  return { deps, state, held, outcomes };
}

test('what ends while a settling is under way is settled next, all of it in one call', async () => {
  const { deps, state, held, outcomes } = await holding(slow, 6);
  await slow.ping();
  await client.config('RESETSTAT');
  proxy.hold();
  const ends = outcomes.map((outcome) => settleHeld(deps, state, held, [outcome]));
  assert.equal(held.ended.length, 5);
  proxy.release();
  await Promise.all(ends);
  assert.equal(state.leases.size, 0);
  assert.equal(held.settling, undefined);
  assert.deepEqual(await pending(client), []);
  const calls = /cmdstat_eval(?:sha)?:calls=(\d+)/g;
  const stats = await client.info('commandstats');
  assert.equal(
    [...stats.matchAll(calls)].reduce((sum, [, count]) => sum + Number(count), 0),
    2,
  );
});

test('a task that Redis refuses keeps none of its batch-mates, and is counted as unsettled', async () => {
  const { deps, state, held, outcomes } = await holding(client, 4);
  const sick = outcomes[2]?.delivery ?? assert.fail();
  await client.del(toyKeys.task(sick.taskId));
  await client.set(toyKeys.task(sick.taskId), 'not a hash');
  await settleHeld(deps, state, held, outcomes);
  assert.deepEqual(
    (await pending(client)).map(([entryId]) => entryId),
    [sick.entryId],
  );
  assert.deepEqual([state.leases.size, state.unsettled], [0, 1]);
  const stored = outcomes.map(({ delivery }) => client.exists(toyKeys.result(delivery.taskId)));
  assert.deepEqual(await Promise.all(stored), [1, 1, 0, 1]);
});
