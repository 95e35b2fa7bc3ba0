import assert from 'node:assert/strict';
import { test } from 'node:test';
import { overloaded, retryAfterSeconds, shareOf } from '../../edge/admission.js';

const cases: readonly [what: string, turnMs: number, seconds: number][] = [
  ['nothing is known of the rate', 0, 1],
  ['the turn comes in no time', 3, 1],
  ['exactly one second', 1000, 1],
  ['a little more than one second', 1001, 2],
  ['twelve seconds', 12_000, 12],
];

for (const [what, turnMs, seconds] of cases) {
  test(`come back after ${seconds} s: ${what}`, () => {
    assert.equal(retryAfterSeconds(turnMs), seconds);
  });
}

test('whoever is shed is told which limit it was, and when to come back', () => {
  const limits = { maxTasks: 50, maxBytes: 1000 };
  const details = (['count', 'bytes', 'wait', 'share'] as const).map((limit) => {
    const failure = overloaded('toy', { how: 'shed', limit, tasks: 7, turnMs: 1500 }, limits);
    assert.deepEqual([failure.code, failure.retryAfter], ['overloaded', 2]);
    return failure.detail;
  });
  assert.match(details[0] ?? '', /toy .* 50 tasks/);
  assert.match(details[1] ?? '', /toy .* 1000 bytes/);
  assert.match(details[2] ?? '', /the 7 tasks before it/);
  assert.match(details[3] ?? '', /the share of this tenant in the backlog of toy/);
});

test("a tenant's share is so much of the consumers' time, whole batches at least, and unbounded where their rate is not known", () => {
  const limits = { shareMs: 2000, timeoutMs: 10_000 };
  const waitMs = 5000;
  assert.deepEqual(shareOf(500, limits), { tasks: 1000, waitMs });
  assert.deepEqual(shareOf(500.1, limits), { tasks: 1001, waitMs });
  assert.deepEqual(shareOf(3, limits), { tasks: 32, waitMs });
  assert.deepEqual(shareOf(0, limits), { tasks: 0, waitMs: 0 });
});
