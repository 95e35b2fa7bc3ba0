import assert from 'node:assert/strict';
import { test } from 'node:test';
import { executeBatch, failedOutcome } from '../../backend/executor.js';
import { simulatedLabel, simulatedModel, type SimulatedModel } from '../../backend/model/simulated-model.js';
import { RunLimitError } from '../../backend/run-limit.js';
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

test('timing tells queue, decoding, wait for the batch and run in milliseconds of two digits, and the size of the batch', async () => {
  let clock = 0;
  const { outcomes, inferMs } = await executeBatch(
    plain,
    texts.map((text) => ({ ...readyTask(plain, text), readyAt: 5 })),
    { ...steady, now: () => (clock += 7.77777) },
  );
  assert.equal(Math.round(inferMs * 100) / 100, 7.78);
  const [first] = outcomes;
  assert.ok(first?.result.outcome === 'succeeded');
  const parts = { queueMs: 1.23, decodeMs: 2.35, batchWaitMs: 2.78, inferMs: 7.78 };
  assert.deepEqual(first.result.timing, { ...parts, batchSize: 4 });
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

/** Sizes of the runs that a batch of four took. */
const batchOf = (model: SimulatedModel, names = texts) => names.map((text) => readyTask(model, text));

test('a batch that fails is run again one by one, so that only the guilty task fails', async () => {
  const model = simulatedModel({ faults: { failRunOn: 'c' } });
  const executed = await executeBatch(model, batchOf(model), steady);
  assert.deepEqual(codesOf(executed), ['succeeded', 'succeeded', 'inference_failed', 'succeeded']);
  assert.deepEqual(model.journal.runs, [4, 1, 1, 1, 1]);
  assert.match(String(executed.error), /told to fail/);
});

test('where the memory of the device is short the halves are run, and what fits is told', async () => {
  const model = simulatedModel({ faults: { mostPerRun: 2 } });
  const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g'];
  const executed = await executeBatch(model, batchOf(model, names), steady);
  assert.deepEqual(codesOf(executed), Array(7).fill('succeeded'));
  assert.deepEqual(model.journal.runs, [7, 4, 2, 2, 3, 2, 1]);
  assert.equal(executed.fits, 2);
  assert.deepEqual(
    executed.outcomes.map(({ delivery }) => delivery.taskId).length,
    new Set(executed.outcomes.map(({ delivery }) => delivery.taskId)).size,
  );
});

test('one image that is too much for the device fails alone', async () => {
  const model = simulatedModel();
  const full = { ...model, infer: () => Promise.reject(new Error('Failed to allocate memory for requested buffer')) };
  const executed = await executeBatch(full, batchOf(model, ['a']), steady);
  assert.deepEqual(codesOf(executed), ['inference_failed']);
});

test('where the device is lost nothing more is run, and what was not judged has no outcome', async () => {
  const model = simulatedModel({ faults: { failRunOn: 'b', lostOn: 'c' } });
  // The batch fails for b; then a succeeds, b fails, and at c the device is lost.
  const executed = await executeBatch({ ...model, infer: failingFor('b', model) }, batchOf(model), steady);
  assert.deepEqual(codesOf(executed), ['succeeded', 'inference_failed']);
  assert.match(String(executed.lost), /illegal memory access/);
});

/** As the model's own, but a batch of several fails before the device is asked. */
function failingFor(text: string, model: SimulatedModel): SimulatedModel['infer'] {
  return (images) => (images.length > 1 ? Promise.reject(new Error(`a batch with ${text}`)) : model.infer(images));
}

test('a run that goes past its limit counts as a lost device, whatever becomes of it', async () => {
  const model = simulatedModel({ faults: { hangOn: 'a' }, manifest: { runLimitMs: 20 } });
  const executed = await executeBatch(model, batchOf(model), steady);
  assert.deepEqual(executed.outcomes, []);
  assert.ok(executed.lost instanceof RunLimitError);
});

test('a lease is renewed no longer than the run it is in may last, and then again until it is settled', async () => {
  const model = simulatedModel({ manifest: { runLimitMs: 5000 } });
  const batch = batchOf(model);
  const limits = () => batch.map(({ delivery }) => delivery.lease.renewUntil);
  const during: number[] = [];
  const watched: SimulatedModel = {
    ...model,
    infer: (images) => {
      during.push(...limits());
      return model.infer(images);
    },
  };
  await executeBatch(watched, batch, { ...steady, now: () => 1000 });
  assert.deepEqual(during, [6000, 6000, 6000, 6000]);
  assert.deepEqual(limits(), Array(4).fill(Infinity));
});
