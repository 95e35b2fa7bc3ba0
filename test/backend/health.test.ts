import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHealth } from '../../backend/health.js';

test('three failed batches in a row make sick, and one that succeeds in between does not', () => {
  const health = createHealth();
  for (const succeeded of [false, false, true, false, false]) assert.equal(health.batchEnded(succeeded, 0), false);
  assert.equal(health.sick, false);
  assert.equal(health.batchEnded(false, 70), true);
  assert.deepEqual([health.sick, health.canaryAt], [true, 70]);
  // It falls sick once, not at every batch that was under way.
  assert.equal(health.batchEnded(false, 80), false);
});

test('the canary is tried more and more rarely until it passes, and then all is forgotten', () => {
  const health = createHealth();
  for (let i = 0; i < 3; i++) health.batchEnded(false, 0);
  const waits: number[] = [];
  let now = 0;
  for (let i = 0; i < 8; i++) {
    health.canaryEnded(false, now);
    waits.push((health.canaryAt ?? 0) - now);
    now = health.canaryAt ?? 0;
  }
  assert.deepEqual(waits, [1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  health.canaryEnded(true, now);
  assert.deepEqual([health.sick, health.canaryAt], [false, undefined]);
  assert.equal(health.batchEnded(false, now), false);
});
