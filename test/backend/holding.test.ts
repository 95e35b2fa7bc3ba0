import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createHolding, readyQueue, room } from '../../backend/holding.js';
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
  assert.deepEqual(readyQueue(holding), { model: 'toy', ready: 0, oldestReadyAt: 0, limit });
  holding.ready.push({ ...readyTask(model, 'a'), readyAt: 70 }, { ...readyTask(model, 'b'), readyAt: 90 });
  assert.deepEqual(readyQueue(holding), { model: 'toy', ready: 2, oldestReadyAt: 70, limit });
});

test('a device that the manifest does not name takes one image at a time', () => {
  const unnamed = simulatedModel({ manifest: { batch: { cuda: { max: 64, maxWaitMs: 0 } } } });
  assert.equal(room(createHolding(unnamed)), 2);
});
