import assert from 'node:assert/strict';
import { test } from 'node:test';
import { spendKeys } from '../../../contracts/keys.js';
import { cellRate, endSpending, spend, type Spending } from '../../../contracts/scripts/spend.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import type { Limits } from '../../../contracts/grant.js';
import { seededRandom } from '../../random.js';
import { testRedis } from '../../redis.js';

const redis = await testRedis();
const client = defineScripts(redis.client());

let accounts = 0;
const fresh = () => `key:${String(accounts++)}`;
const noon = Date.UTC(2027, 5, 30, 12) * 1000;
const second = 1_000_000;

const spending = (account: string, limits: Limits, now: number, more: Partial<Spending> = {}): Spending => ({
  ...{ account, limits, price: 1, requestId: 'request', longestMs: 60_000, now },
  ...more,
});
const how = async (given: Spending) => (await spend(client, given)).how;

/** A bucket that fills up by one picture every interval, kept in microseconds: the other way to say what GCRA does. */
function bucketOf(limits: Limits, start: number) {
  const { interval, burst } = cellRate(limits);
  const most = burst * interval;
  let [credit, at] = [most, start];
  return (now: number): boolean => {
    credit = Math.min(most, credit + now - at);
    at = now;
    if (credit < interval) return false;
    credit -= interval;
    return true;
  };
}

test('10,000 requests by two keys of different tiers: exactly those are admitted that the rate allows', async () => {
  const tiers: Limits[] = [
    { perSecond: 5, burst: 20 },
    { perSecond: 70, burst: 7 },
  ];
  const random = seededRandom(5);
  const keys = tiers.map((limits) => ({ limits, account: fresh(), allows: bucketOf(limits, noon), admitted: 0 }));
  let now = noon;
  for (let request = 0; request < 10_000; request++) {
    now += random.int(40_000);
    const key = random.pick(keys);
    const expected = key.allows(now);
    const got = await how(spending(key.account, key.limits, now));
    assert.equal(got, expected ? 'spent' : 'rate', `request ${String(request)}`);
    if (expected) key.admitted++;
  }
  const seconds = (now - noon) / second;
  for (const { limits, admitted } of keys) {
    const most = (limits.burst ?? 0) + seconds * (limits.perSecond ?? 0);
    assert.ok(admitted > 100 && admitted <= most, `${String(admitted)} of at most ${String(most)}`);
  }
});

test('four edges over one Redis admit together what one would', async () => {
  const limits: Limits = { perSecond: 50, burst: 30 };
  const account = fresh();
  const edges = Array.from({ length: 4 }, () => defineScripts(redis.client()));
  const allows = bucketOf(limits, noon);
  let [admitted, expected] = [0, 0];
  for (let tick = 0; tick < 250; tick++) {
    const now = noon + tick * 17_000;
    const asked = await Promise.all(
      Array.from({ length: 40 }, (_, i) => spend(edges[i % 4] ?? client, spending(account, limits, now))),
    );
    admitted += asked.filter((one) => one.how === 'spent').length;
    for (let i = 0; i < 40; i++) if (allows(now)) expected++;
  }
  assert.equal(admitted, expected);
});

test('who is refused is told when to come back, and is admitted then and not before', async () => {
  const limits: Limits = { perSecond: 3, burst: 2 };
  const account = fresh();
  for (let i = 0; i < 2; i++) assert.equal(await how(spending(account, limits, noon)), 'spent');
  const refused = await spend(client, spending(account, limits, noon + 1));
  assert.ok(refused.how === 'rate' && refused.againInMs > 0);
  const { againInMs } = refused;
  assert.equal(await how(spending(account, limits, noon + 1 + (againInMs - 1) * 1000)), 'rate');
  assert.equal(await how(spending(account, limits, noon + 1 + againInMs * 1000)), 'spent');
});

test('a request of many pictures costs as many, all or none, and never more than may come at once', async () => {
  const limits: Limits = { perSecond: 1, burst: 10 };
  const account = fresh();
  const of = (price: number) => spend(client, spending(account, limits, noon, { price }));
  assert.deepEqual(await of(7), {
    how: 'spent',
    left: { pictures: 3, fullInMs: 7000, picturesToday: 0, dayEndsInMs: 43_200_000 },
  });
  const left = { pictures: 3, fullInMs: 7000, picturesToday: 0, dayEndsInMs: 43_200_000 };
  assert.deepEqual(await of(4), { how: 'rate', againInMs: 1000, left });
  assert.equal((await of(3)).how, 'spent');
  assert.deepEqual(await of(11), { how: 'burst', againInMs: 0, left: { ...left, pictures: 0, fullInMs: 10_000 } });
});

test('the pictures of a day are counted by UTC, and come back at midnight', async () => {
  const limits: Limits = { perDay: 2 };
  const account = fresh();
  const late = Date.UTC(2027, 5, 30, 23, 59, 59) * 1000;
  assert.deepEqual(await spend(client, spending(account, limits, late)), {
    how: 'spent',
    left: { pictures: 0, fullInMs: 0, picturesToday: 1, dayEndsInMs: 1000 },
  });
  assert.equal(await how(spending(account, limits, late)), 'spent');
  const refused = await spend(client, spending(account, limits, late));
  assert.deepEqual([refused.how, 'againInMs' in refused && refused.againInMs], ['day', 1000]);
  assert.equal(refused.left.picturesToday, 0);
  assert.equal(await how(spending(account, limits, late + second)), 'spent');
});

test('requests at a time are counted until they end, or are forgotten after the longest a request may take', async () => {
  const limits: Limits = { atOnce: 2 };
  const account = fresh();
  const begin = (requestId: string, now = noon) => how(spending(account, limits, now, { requestId }));
  assert.deepEqual([await begin('a'), await begin('b'), await begin('c')], ['spent', 'spent', 'at-once']);
  await endSpending(client, account, 'a');
  assert.deepEqual([await begin('c'), await begin('d')], ['spent', 'at-once']);
  assert.equal(await begin('d', noon + 59_999_000), 'at-once');
  assert.equal(await begin('d', noon + 60_001_000), 'spent');
});

test('what is refused changes nothing', async () => {
  const limits: Limits = { perSecond: 1, burst: 1, perDay: 5, atOnce: 3 };
  const account = fresh();
  assert.equal(await how(spending(account, limits, noon, { requestId: 'first' })), 'spent');
  const { account: key, underWay } = spendKeys(account);
  const before = [await client.hgetall(key), await client.zrange(underWay, '0', '-1')];
  assert.equal(await how(spending(account, limits, noon, { requestId: 'second' })), 'rate');
  assert.deepEqual([await client.hgetall(key), await client.zrange(underWay, '0', '-1')], before);
});

test("without a time of its own the server's clock counts, and an account that is idle is forgotten", async () => {
  const account = fresh();
  const limits: Limits = { perSecond: 10, burst: 5 };
  assert.equal(await how({ account, limits, price: 1, requestId: 'request', longestMs: 60_000 }), 'spent');
  const lives = await client.pttl(spendKeys(account).account);
  assert.ok(lives > 0 && lives <= 86_400_000 + 61_000, String(lives));
});
