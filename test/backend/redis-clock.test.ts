import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { createRedisClock } from '../../backend/redis-clock.js';
import { testRedis } from '../redis.js';

const redis = await testRedis();
const client = redis.client();
const hour = 3_600_000;

const redisNow = async () => {
  const [seconds, micros] = await client.time();
  return Number(seconds) * 1000 + Number(micros) / 1000;
};

for (const [what, offset] of [
  ['hour slow', -hour],
  ['hour fast', hour],
  ['millisecond off', 1],
] as const) {
  test(`a host whose clock is an ${what} tells the time of Redis`, async () => {
    const clock = createRedisClock(client, () => Date.now() + offset);
    const asked = performance.now();
    await clock.measure();
    // Measuring can be wrong by half the way to Redis and back, and by what clocks round off.
    const margin = performance.now() - asked + 2;
    const before = await redisNow();
    const told = clock.now();
    const after = await redisNow();
    assert.ok(told > before - margin && told < after + margin, `${told} is not between ${before} and ${after}`);
  });
}

test('a clock that was set meanwhile is measured anew', async () => {
  let offset = 0;
  const clock = createRedisClock(client, () => Date.now() + offset);
  await clock.measure();
  offset = hour;
  assert.ok(clock.now() > (await redisNow()) + hour / 2);
  await clock.measure();
  assert.ok(Math.abs(clock.now() - (await redisNow())) < hour / 2);
});

test('where Redis does not answer the last measurement stays', async () => {
  let local = 0;
  const gone = redis.adopt(new Redis(redis.url, { maxRetriesPerRequest: 0, retryStrategy: () => null }));
  gone.on('error', () => undefined);
  const clock = createRedisClock(gone, () => local);
  await clock.measure();
  const told = clock.now();
  gone.disconnect();
  local = 5;
  await clock.measure().catch(() => undefined);
  assert.equal(clock.now(), told + 5);
});
