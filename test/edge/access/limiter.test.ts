import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../contracts/failure.js';
import type { Limits } from '../../../contracts/grant.js';
import type { Spending, Spent } from '../../../contracts/scripts/spend.js';
import { createLimiter } from '../../../edge/access/limiter.js';
import type { Principal } from '../../../edge/access/principal.js';
import { limitsOf } from '../../../edge/access/tiers.js';

const caller = (limits?: Limits): Principal => ({
  ...{ tenant: 'acme', tier: 'free', permissions: ['predict'], scope: 'acme', account: 'key:one', limits },
});
const tiers = { free: { perSecond: 2, burst: 4, perDay: 100 } };
const left = { pictures: 3, fullInMs: 500, picturesToday: 99, dayEndsInMs: 3_600_000 };
const whole: Spent = { how: 'spent', left };

/** A limiter whose store answers as a test says, on a clock that it moves. */
function underTest(answer: () => Promise<Spent> = () => Promise.resolve(whole)) {
  const state = { at: 0, asked: [] as Spending[], ended: [] as string[], endsFail: false, local: 0, answer };
  const limiter = createLimiter({
    ...{ tiers, clock: { now: () => state.at }, longestMs: 60_000, answerLimitMs: 1000 },
    onLocal: () => state.local++,
    spend: (spending) => {
      state.asked.push(spending);
      return state.answer();
    },
    endSpending: async (_account, requestId) => {
      if (state.endsFail) throw new Error('away');
      state.ended.push(requestId);
    },
  });
  return { state, limiter };
}

async function refusal(limiter: ReturnType<typeof underTest>['limiter'], principal = caller()): Promise<Failure> {
  try {
    await limiter.pay(principal, 1);
  } catch (error) {
    if (error instanceof Failure) return error;
    throw error;
  }
  return assert.fail('it was paid for');
}

test("a key's own limits replace its tier's, one by one", () => {
  assert.deepEqual(limitsOf(tiers, caller({ burst: 9 })), { perSecond: 2, burst: 9, perDay: 100 });
  for (const tier of ['unheard-of', 'constructor']) {
    assert.throws(() => limitsOf(tiers, { ...caller(), tier }), /permission_missing/);
  }
});

test('what is left is told in the fields of the IETF draft', async () => {
  const { limiter } = underTest();
  assert.deepEqual((await limiter.pay(caller(), 1)).fields, {
    'ratelimit-policy': '"burst";q=4;w=2, "day";q=100;w=86400',
    ratelimit: '"burst";r=3;t=1, "day";r=99;t=3600',
  });
});

test('each limit is refused by its own code, with the time to come back in whole seconds', async () => {
  const { state, limiter } = underTest();
  const cases: [Spent, string, number | undefined][] = [
    [{ how: 'rate', againInMs: 1_001, left }, 'rate_limited', 2],
    [{ how: 'day', againInMs: 7_200_000, left }, 'quota_exhausted', 7200],
    [{ how: 'at-once', againInMs: 0, left }, 'too_many_at_once', 1],
    [{ how: 'burst', againInMs: 0, left }, 'rate_limited', undefined],
  ];
  for (const [spent, code, retryAfter] of cases) {
    state.answer = () => Promise.resolve(spent);
    const refused = await refusal(limiter);
    assert.deepEqual([refused.code, refused.retryAfter], [code, retryAfter]);
    assert.match(refused.fields?.['ratelimit'] ?? '', /^"burst";r=3;t=1, "day";r=99/);
  }
});

test('who has no account is asked about nowhere', async () => {
  const { state, limiter } = underTest();
  assert.deepEqual((await limiter.pay({ ...caller(), account: undefined }, 1)).fields, {});
  assert.equal(state.asked.length, 0);
});

test('requests under way have names of their own, and are ended where their number is limited', async () => {
  const { state, limiter } = underTest();
  for (let i = 0; i < 3; i++) (await limiter.pay(caller({ atOnce: 5 }), 1)).end();
  assert.equal(new Set(state.asked.map(({ requestId }) => requestId)).size, 3);
  assert.deepEqual(
    state.ended,
    state.asked.map(({ requestId }) => requestId),
  );
  (await limiter.pay(caller(), 1)).end();
  assert.equal(state.ended.length, 3);
});

test('while Redis is away this edge holds the rate by itself, and asks again after a second', async () => {
  const { state, limiter } = underTest(() => Promise.reject(new Error('away')));
  for (let i = 0; i < 4; i++) assert.deepEqual((await limiter.pay(caller(), 1)).fields, {});
  assert.equal((await refusal(limiter)).code, 'rate_limited');
  assert.equal(state.asked.length, 1);
  state.at = 500;
  await limiter.pay(caller(), 1);
  assert.equal((await refusal(limiter)).retryAfter, 1);
  state.at = 1000;
  state.answer = () => Promise.resolve(whole);
  assert.notDeepEqual((await limiter.pay(caller(), 1)).fields, {});
  assert.equal(state.asked.length, 2);
});

test('what Redis could not be told has ended is told with the next request', async () => {
  const { state, limiter } = underTest();
  const first = await limiter.pay(caller({ atOnce: 5 }), 1);
  state.endsFail = true;
  first.end();
  await Promise.resolve();
  state.endsFail = false;
  await limiter.pay(caller({ atOnce: 5 }), 1);
  assert.deepEqual(state.ended, [state.asked[0]?.requestId]);
});

test('a request that was counted here because Redis was late is not under way there for ever', async () => {
  let answer: (spent: Spent) => void = () => undefined;
  const late = new Promise<Spent>((resolve) => (answer = resolve));
  const { state, limiter } = underTest(() => late);
  await limiter.pay(caller({ atOnce: 5 }), 1);
  assert.deepEqual([state.local, state.ended], [1, []]);
  answer(whole);
  await late;
  await Promise.resolve();
  assert.deepEqual(state.ended, [state.asked[0]?.requestId]);
});

test('further pictures of a request that is under way cost as much, and are paid under its name', async () => {
  const { state, limiter } = underTest();
  const atOnce = caller({ atOnce: 1 });
  const paid = await limiter.pay(atOnce, 1);
  await limiter.payMore(atOnce, 3, paid);
  paid.end();
  assert.deepEqual(
    state.asked.map(({ price, limits, requestId }) => [price, limits.atOnce, requestId]),
    [
      [1, 1, paid.name],
      [3, 1, paid.name],
    ],
  );
  assert.equal(state.ended.length, 1);
  state.answer = () => Promise.reject(new Error('away'));
  await limiter.payMore(atOnce, 1, paid);
  assert.equal(state.ended.length, 1, 'it goes on, though Redis was away for once');
  state.at += 10_000;
  await limiter.payMore({ ...atOnce, account: undefined }, 1, paid);
  assert.equal(state.asked.length, 3, 'whom nothing limits pays nothing');
});
