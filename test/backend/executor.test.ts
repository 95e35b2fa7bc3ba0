import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executeBatch, failedOutcome } from '../../backend/executor.js';
import { simulatedLabel, simulatedModel } from '../../backend/model/simulated-model.js';
import { Failure } from '../../contracts/failure.js';
import { readyTask } from './deliveries.js';

const now = () => performance.now();
const texts = ['a', 'b', 'c', 'd'];
const plain = simulatedModel();
const steady = { now, memory: () => 1000 };

function codesOf({ outcomes }: Awaited<ReturnType<typeof executeBatch>>) {
  return outcomes.map(({ result }) => (result.outcome === 'failed' ? result.code : result.outcome));
}

test('every task of a batch gets what the model says about its own image, in order', async () => {
  const batch = texts.map((text) => readyTask(plain, text));
  const { outcomes } = await executeBatch(plain, batch, steady);
  for (const [i, { result, delivery, reason }] of outcomes.entries()) {
    assert.ok(result.outcome === 'succeeded');
    assert.deepEqual(JSON.parse(Buffer.from(result.predictions).toString()), [
      { label: simulatedLabel(Buffer.from(texts[i] ?? '')), score: 1 },
    ]);
    assert.equal(delivery, batch[i]?.delivery);
    assert.equal(reason, 'succeeded');
  }
});

test('timing tells queue, decoding and run in milliseconds of two digits, and the size of the batch', async () => {
  let clock = 0;
  const { outcomes, inferMs } = await executeBatch(
    plain,
    texts.map((text) => readyTask(plain, text)),
    { ...steady, now: () => (clock += 7.77777) },
  );
  assert.equal(Math.round(inferMs * 100) / 100, 7.78);
  const [first] = outcomes;
  assert.ok(first?.result.outcome === 'succeeded');
  assert.deepEqual(first.result.timing, { queueMs: 1.23, decodeMs: 2.35, inferMs: 7.78, batchSize: 4 });
});

test('a prediction that throws fails its own task alone', async () => {
  const choosy = {
    ...plain,
    predict: (...[raw, image, params]: Parameters<typeof plain.predict>) => {
      if (Buffer.from(image.pixels).toString() === 'b') throw new Error('a secret of the model');
      if (Buffer.from(image.pixels).toString() === 'c') throw new Failure('image_unreadable', 'blank');
      return plain.predict(raw, image, params);
    },
  };
  const executed = await executeBatch(
    choosy,
    texts.map((text) => readyTask(choosy, text)),
    steady,
  );
  assert.deepEqual(codesOf(executed), ['succeeded', 'inference_failed', 'image_unreadable', 'succeeded']);
  assert.doesNotMatch(JSON.stringify(executed.outcomes.map(({ result }) => result)), /secret/);
});

test('a run that fails gives every task inference_failed, and is not thrown', async () => {
  const failing = simulatedModel({ failRuns: [1, 2, 3, 4, 5] });
  const executed = await executeBatch(
    failing,
    texts.map((text) => readyTask(failing, text)),
    steady,
  );
  assert.deepEqual(codesOf(executed), Array(4).fill('inference_failed'));
  assert.deepEqual(
    executed.outcomes.map(({ reason }) => reason),
    Array(4).fill('failed'),
  );
  assert.ok(executed.inferMs >= 0);
});

test('a run that gives fewer outputs than images fails those without one', async () => {
  const short = {
    ...plain,
    infer: async (images: Parameters<typeof plain.infer>[0]) => (await plain.infer(images)).slice(0, 2),
  };
  const executed = await executeBatch(
    short,
    texts.map((text) => readyTask(short, text)),
    steady,
  );
  assert.deepEqual(codesOf(executed), ['succeeded', 'succeeded', 'inference_failed', 'inference_failed']);
});

test('predictions that JSON cannot tell fail their task alone', async () => {
  const loop: { vector: number[] } = { vector: [] };
  Object.assign(loop, { self: loop });
  const looping = {
    ...plain,
    predict: (...[raw, image, params]: Parameters<typeof plain.predict>) =>
      Buffer.from(image.pixels).toString() === 'a' ? loop : plain.predict(raw, image, params),
  };
  const executed = await executeBatch(
    looping,
    texts.map((text) => readyTask(looping, text)),
    steady,
  );
  assert.deepEqual(codesOf(executed), ['inference_failed', 'succeeded', 'succeeded', 'succeeded']);
});

test('a deadline that passed is an expired task; any other failure a failed one', () => {
  const task = readyTask(plain, 'a');
  const late = failedOutcome(task, new Failure('deadline_exceeded', 'late'), 'deadline_exceeded');
  assert.equal(late.reason, 'expired');
  assert.equal(failedOutcome(task, new Error('x'), 'image_unreadable').reason, 'failed');
});

for (const failRuns of [[], [1, 2, 3, 4, 5]]) {
  test(`the memory that a run adds stands at each of its tasks (${failRuns.length > 0 ? 'failed' : 'succeeded'})`, async () => {
    const model = simulatedModel({ failRuns });
    let bytes = 0;
    const growing = () => (bytes += 512);
    const batch = texts.map((text) => readyTask(model, text));
    const { outcomes } = await executeBatch(model, batch, { now, memory: growing });
    assert.deepEqual(
      outcomes.map(({ memoryChange }) => memoryChange),
      [512, 512, 512, 512],
    );
  });
}
