import assert from 'node:assert/strict';
import { test } from 'node:test';
import { residentBytes } from '../../backend/resident-memory.js';
import { until } from '../integration/system.js';

test('memory is told in bytes, as the system counts it', () => {
  const told = residentBytes();
  const real = process.memoryUsage.rss();
  assert.ok(Number.isInteger(told) && told > real / 2 && told < real * 2, `${told} for ${real}`);
});

test('memory that was taken is seen before long', async () => {
  const before = residentBytes();
  const taken = Buffer.alloc(64 * 1024 * 1024, 1);
  await until(residentBytes, (bytes) => bytes > before + taken.length / 2);
});

test('asking again at once costs no look at the system', () => {
  const answers = new Set(Array.from({ length: 1000 }, residentBytes));
  // A thousand calls may straddle one renewal.
  assert.ok(answers.size <= 2);
});
