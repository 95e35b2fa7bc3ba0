import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createCapacity } from '../../backend/capacity.js';

/** Samples once a second: how much was done in that second, and whether there was always more to do. */
function after(rated: number, seconds: readonly (readonly [done: number, saturated: boolean])[]): number {
  const capacity = createCapacity(rated);
  let total = 0;
  capacity.sample(total, false, 0);
  seconds.forEach(([done, saturated], i) => {
    total += done;
    capacity.sample(total, saturated, (i + 1) * 1000);
  });
  return capacity.perSecond;
}
const times = <T>(count: number, value: T): T[] => Array.from({ length: count }, () => value);

test('what is known at first is what the device did when it was warmed up', () => {
  assert.equal(after(120, []), 120);
  assert.equal(after(120, times(20, [1, false] as const)), 120);
});

test('while there is always more to do, what is done is what can be done, less than rated or more', () => {
  assert.equal(after(120, times(10, [80, true] as const)), 80);
  assert.equal(after(120, times(10, [200, true] as const)), 200);
});

test('a few seconds say nothing yet, since batches come in lumps', () => {
  assert.equal(after(120, times(2, [0, true] as const)), 120);
});

test('a lull does not lower it, and a stretch before it is not mixed with one behind it', () => {
  assert.equal(after(120, [...times(10, [80, true] as const), ...times(10, [0, false] as const)]), 80);
  const twoStretches = [...times(10, [80, true] as const), [0, false] as const, ...times(4, [50, true] as const)];
  assert.equal(after(120, twoStretches), 50);
});

test('where nothing was rated, what was done without being asked for more is a beginning', () => {
  assert.equal(after(0, []), 0);
  assert.equal(after(0, times(5, [10, false] as const)), 10);
});

test('a device that costs nothing has a rate that can be told all the same', () => {
  assert.equal(createCapacity(Infinity).perSecond, 1_000_000);
});

test('batches that take longer than a second are measured from the end of one to the end of the next', () => {
  const batch = [...times(7, [0, true] as const), [32, true] as const];
  assert.equal(after(100, [...batch, ...batch]), 4);
  assert.equal(after(100, [...batch, ...batch, ...times(6, [0, true] as const)]), 4);
});
