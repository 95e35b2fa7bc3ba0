import assert from 'node:assert/strict';
import { test } from 'node:test';
import { prepareAhead } from './prepare-ahead.js';

test('all items are taken once, whoever takes them, and then nothing more comes', async () => {
  const ahead = prepareAhead(async (index) => index, { count: 20, ahead: 4 });
  const taken: number[] = [];
  const taker = async () => {
    for (let some = await ahead.take(3); some.length > 0; some = await ahead.take(3)) taken.push(...some);
  };
  await Promise.all([taker(), taker()]);
  assert.deepEqual(
    taken.sort((one, other) => one - other),
    Array.from({ length: 20 }, (_, i) => i),
  );
});

test('no more is prepared ahead than was asked for', async () => {
  const begun: number[] = [];
  const ends: (() => void)[] = [];
  const ahead = prepareAhead(
    (index) => {
      begun.push(index);
      return new Promise<number>((resolve) => ends.push(() => resolve(index)));
    },
    { count: 10, ahead: 3 },
  );
  assert.deepEqual(begun, [0, 1, 2]);
  for (const end of ends) end();
  await new Promise(setImmediate);
  assert.deepEqual(begun, [0, 1, 2], 'what is ready and not taken takes a place');
  assert.deepEqual(await ahead.take(2), [0, 1]);
  assert.deepEqual(begun, [0, 1, 2, 3, 4]);
});

test('who takes hears of a failure', async () => {
  const failing = async (): Promise<number> => {
    throw new Error('broken');
  };
  const ahead = prepareAhead(failing, { count: 2, ahead: 2 });
  await assert.rejects(ahead.take(1), /broken/);
});
