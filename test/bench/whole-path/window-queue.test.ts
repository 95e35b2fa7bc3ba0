import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createWindowQueue, type WindowQueue } from './window-queue.js';

const long = 3_600_000;
/** An item that must be let in. */
const admitted = (queue: WindowQueue<number, number>, item: number) =>
  queue.add(item) ?? Promise.reject(new Error('refused'));
const doubled = async (batch: readonly number[]) => batch.map((item) => 2 * item);

test('a full batch is closed at once, and every item gets its own answer', async () => {
  const sizes: number[] = [];
  const queue = createWindowQueue({ size: 3, windowMs: long, atOnce: 1 }, (batch: readonly number[]) => {
    sizes.push(batch.length);
    return doubled(batch);
  });
  const answers = await Promise.all([1, 2, 3].map((item) => admitted(queue, item)));
  assert.deepEqual([answers, sizes], [[2, 4, 6], [3]]);
});

test('a batch that does not fill is closed when its window is over', async () => {
  const queue = createWindowQueue({ size: 100, windowMs: 5, atOnce: 1 }, doubled);
  assert.deepEqual(await Promise.all([admitted(queue, 1), admitted(queue, 2)]), [2, 4]);
});

test('what comes while as many batches are under way as may be waits, and is run in batches of full size', async () => {
  const runs: { items: readonly number[]; end: () => void }[] = [];
  const queue = createWindowQueue({ size: 2, windowMs: long, atOnce: 1 }, (items: readonly number[]) => {
    return new Promise<readonly number[]>((resolve) => runs.push({ items, end: () => resolve(items) }));
  });
  const added = [1, 2, 3, 4].map((item) => admitted(queue, item));
  assert.deepEqual(
    runs.map(({ items }) => items),
    [[1, 2]],
  );
  runs[0]?.end();
  await Promise.all(added.slice(0, 2));
  assert.deepEqual(
    runs.map(({ items }) => items),
    [
      [1, 2],
      [3, 4],
    ],
  );
  runs[1]?.end();
  assert.deepEqual(await Promise.all(added), [1, 2, 3, 4]);
});

test('a bounded queue refuses what is beyond its bound, and takes more once a batch has ended', async () => {
  const queue = createWindowQueue({ size: 2, windowMs: long, atOnce: 1, mostHeld: 2 }, doubled);
  const first = admitted(queue, 1);
  const second = admitted(queue, 2);
  assert.equal(queue.add(3), undefined);
  await Promise.all([first, second]);
  // The places are free in the turn after the answers.
  await new Promise(setImmediate);
  assert.deepEqual(await Promise.all([admitted(queue, 4), admitted(queue, 5)]), [8, 10]);
});

test('a batch that fails fails for all its members, and the next one runs', async () => {
  let runs = 0;
  const queue = createWindowQueue({ size: 1, windowMs: long, atOnce: 1 }, async (batch: readonly number[]) => {
    if (++runs === 1) throw new Error('broken');
    return batch;
  });
  await assert.rejects(admitted(queue, 1), /broken/);
  assert.equal(await admitted(queue, 2), 2);
});
