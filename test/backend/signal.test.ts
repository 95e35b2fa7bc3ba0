import assert from 'node:assert/strict';
import { setImmediate as turn } from 'node:timers/promises';
import { test } from 'node:test';
import { createSignal } from '../../backend/signal.js';
import { seededRandom } from '../random.js';

/** Says whether a promise is settled after so many turns of the event loop. */
async function settledWithin(turns: number, promise: Promise<void>): Promise<boolean> {
  let settled = false;
  void promise.then(() => (settled = true));
  for (let i = 0; i < turns; i++) await turn();
  return settled;
}

test('who waits is woken by a notification, and not before', async () => {
  const signal = createSignal();
  const wait = signal.wait();
  assert.equal(await settledWithin(5, wait), false);
  signal.notify();
  await wait;
});

test('a notification that came before the wait is not lost', async () => {
  const signal = createSignal();
  signal.notify();
  await turn();
  await turn();
  await signal.wait();
});

test('many notifications before a wait wake once', async () => {
  const signal = createSignal();
  for (let i = 0; i < 10; i++) signal.notify();
  await signal.wait();
  assert.equal(await settledWithin(5, signal.wait()), false);
});

test('what happens within one turn of the event loop is one wake-up, which finds all of it', async () => {
  const signal = createSignal();
  let things = 0;
  const found = signal.wait().then(() => things);
  signal.notify();
  things++;
  signal.notify();
  await Promise.resolve();
  things++;
  signal.notify();
  assert.equal(await found, 2);
  assert.equal(await settledWithin(5, signal.wait()), false);
});

test('a wait with a bound ends by itself, and its timer wakes nobody later', async () => {
  const signal = createSignal();
  await signal.wait(1);
  const bounded = signal.wait(5);
  signal.notify();
  await bounded;
  const next = signal.wait();
  await new Promise((resolve) => setTimeout(resolve, 10));
  assert.equal(await settledWithin(2, next), false);
});

test('whatever the interleaving, a loop that waits for work does all of it', async () => {
  for (let seed = 1; seed <= 200; seed++) {
    const random = seededRandom(seed);
    const signal = createSignal();
    const pieces = 30;
    let made = 0;
    let done = 0;
    const worker = (async () => {
      while (done < pieces) {
        if (made > done) {
          done++;
          if (random.int(3) === 0) await turn();
        } else {
          await signal.wait();
        }
      }
    })();
    while (made < pieces) {
      made += 1 + random.int(Math.min(3, pieces - made));
      signal.notify();
      const pause = random.int(4);
      if (pause === 1) await Promise.resolve();
      if (pause >= 2) for (let i = 0; i < random.int(4); i++) await turn();
    }
    assert.ok(await settledWithin(500, worker), `seed ${seed}: a wake-up was lost after ${done} of ${made}`);
  }
});
