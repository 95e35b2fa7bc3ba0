import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createBatchCeiling } from '../../backend/batch-ceiling.js';

test('the ceiling falls to what fits, never below one, and a later failure with more does not raise it', () => {
  const ceiling = createBatchCeiling(32);
  assert.equal(ceiling.now, 32);
  ceiling.lower(16);
  ceiling.lower(4);
  ceiling.lower(8);
  assert.equal(ceiling.now, 4);
  ceiling.lower(0);
  assert.equal(ceiling.now, 1);
});

test('after sixteen full batches it rises by an eighth of the limit, and in the end to the limit and no further', () => {
  const ceiling = createBatchCeiling(32);
  ceiling.lower(16);
  for (let i = 0; i < 15; i++) ceiling.ran(16);
  // Smaller ones say nothing.
  for (let i = 0; i < 100; i++) ceiling.ran(15);
  assert.equal(ceiling.now, 16);
  ceiling.ran(16);
  assert.equal(ceiling.now, 20);
  for (let i = 0; i < 1000; i++) ceiling.ran(ceiling.now);
  assert.equal(ceiling.now, 32);
});

test('a failure on the way up begins the count again', () => {
  const ceiling = createBatchCeiling(8);
  ceiling.lower(2);
  for (let i = 0; i < 15; i++) ceiling.ran(2);
  ceiling.lower(2);
  for (let i = 0; i < 15; i++) ceiling.ran(2);
  assert.equal(ceiling.now, 2);
});
