import assert from 'node:assert/strict';
import { test } from 'node:test';
import { courseOf } from './memory.js';

/** Ten samples of each eighth of a run. */
const ratioOf = (...eighths: readonly number[]) => {
  const { firstHalf, lastQuarter } = courseOf(
    'edge-0',
    eighths.flatMap((MiB) => Array.from({ length: 10 }, () => MiB)),
  );
  return lastQuarter / firstHalf;
};

test('a heap that was cleared and rose again to where it was has not grown; one that leaks has', () => {
  assert.ok(ratioOf(125, 100, 100, 108, 122, 123, 124, 124) <= 1.1);
  assert.ok(ratioOf(100, 104, 108, 112, 116, 120, 124, 128) > 1.1);
});
