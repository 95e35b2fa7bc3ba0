import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHolding, readyQueues, room } from '../../backend/holding.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { readyTask } from './deliveries.js';

const model = simulatedModel({ manifest: { name: 'toy', batch: { simulated: { max: 4, maxWaitMs: 5 } } } });

test('whatever is held takes room: in preparation, ready or on the device', () => {
  const holding = createHolding(model);
  assert.equal(room(holding), 8);
  holding.preparing = 3;
  holding.ready.push(readyTask(model, 'a'), readyTask(model, 'b'));
  holding.running = 2;
  assert.equal(room(holding), 1);
  holding.preparing = 9;
  assert.equal(room(holding), 0);
});

test('the batcher is told how many are ready and since when the oldest is', () => {
  const holding = createHolding(model);
  const limit = { max: 4, maxWaitMs: 5 };
  assert.deepEqual(readyQueues(holding)[0], { model: 'toy', solo: false, ready: 0, oldestReadyAt: 0, limit });
  holding.ready.push({ ...readyTask(model, 'a'), readyAt: 70 }, { ...readyTask(model, 'b'), readyAt: 90 });
  assert.deepEqual(readyQueues(holding)[0], { model: 'toy', solo: false, ready: 2, oldestReadyAt: 70, limit });
});

test('a device that the manifest does not name takes one image at a time', () => {
  const unnamed = simulatedModel({ manifest: { batch: { cuda: { max: 64, maxWaitMs: 0 } } } });
  assert.equal(room(createHolding(unnamed)), 2);
});

test('what was claimed takes room as well, and runs one by one', () => {
  const holding = createHolding(model);
  holding.solos.push({ ...readyTask(model, 'a'), readyAt: 7 }, readyTask(model, 'b'));
  assert.equal(room(holding), 6);
  assert.deepEqual(readyQueues(holding)[1], {
    ...{ model: 'toy', solo: true, ready: 2, oldestReadyAt: 7, limit: { max: 1, maxWaitMs: 0 } },
  });
});

test('of a sick model nothing runs, and batches stay below the ceiling', () => {
  const holding = createHolding(model);
  holding.ceiling.lower(2);
  assert.equal(readyQueues(holding)[0]?.limit.max, 2);
  for (let i = 0; i < 3; i++) holding.health.batchEnded(false, 0);
  assert.deepEqual(readyQueues(holding), []);
});
