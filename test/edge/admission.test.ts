import assert from 'node:assert/strict';
import { test } from 'node:test';
import { retryAfterSeconds } from '../../edge/admission.js';

const cases: readonly [what: string, tasks: number, perSecond: number, seconds: number][] = [
  ['nothing is known of the rate', 1000, 0, 1],
  ['a rate that makes no sense', 1000, -5, 1],
  ['nothing is admitted', 0, 10, 1],
  ['the backlog is gone in no time', 5, 10, 1],
  ['exactly one second', 10, 10, 1],
  ['a little more than one second', 11, 10, 2],
  ['twelve seconds', 120, 10, 12],
  ['exactly the bound', 300, 10, 30],
  ['longer than anybody should wait', 10_000, 1, 30],
  ['consumers that do next to nothing', 1, 1e-9, 30],
];

for (const [what, tasks, perSecond, seconds] of cases) {
  test(`come back after ${seconds} s: ${what}`, () => {
    assert.equal(retryAfterSeconds(tasks, perSecond), seconds);
  });
}
