import assert from 'node:assert/strict';
import { test } from 'node:test';
import { lastOverSecond } from './quarters.js';

test('the last quarter is set beside the second: what a start takes, and a single peak, do not count', () => {
  const flat = [1, 1, 1, 10, 10, 10, 10, 10, 10, 10, 10, 10];
  assert.equal(lastOverSecond(flat), 1);
  assert.equal(lastOverSecond([...flat.slice(0, -1), 500]), 1);
  assert.equal(lastOverSecond([1, 1, 1, 10, 500, 10, 15, 15, 15, 20, 20, 20]), 2);
});

test('samples that do not divide by four leave some in the middle out', () => {
  assert.equal(lastOverSecond([0, 4, 0, 0, 0, 8]), 2);
  assert.throws(() => lastOverSecond([1, 2, 3]));
});
