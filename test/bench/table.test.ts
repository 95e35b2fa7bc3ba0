import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Goal } from './bench.js';
import { goalLines, verdict } from './table.js';

const goal = (perRound: number[], more: Partial<Goal> = {}): Goal => ({
  ...{ promise: 'at most 2', perRound, bound: { atMost: 2 } },
  ...more,
});

test('a goal is judged by the median of its rounds', () => {
  assert.equal(verdict(goal([1, 2, 9])), 'met');
  assert.equal(verdict(goal([1, 3, 9])), 'missed');
  assert.equal(verdict(goal([1, 3, 9], { bound: { atLeast: 3 } })), 'met');
  assert.equal(verdict(goal([1, 2, 9], { bound: { atLeast: 3 } })), 'missed');
});

test('a limit that was measured forbids a goal only where it is not met', () => {
  const limit = 'the cores were full';
  assert.equal(verdict(goal([1], { limit })), 'met');
  assert.equal(verdict(goal([3], { limit })), 'forbidden');
  assert.deepEqual(goalLines([goal([3], { limit })]), [
    'FORBIDDEN BY A LIMIT: at most 2: 3.00 (3.00–3.00) (the cores were full)',
  ]);
});

test('what is no number is never met', () => {
  assert.throws(() => verdict(goal([Number.NaN])), /no numbers/);
});
