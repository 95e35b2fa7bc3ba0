import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { createLatch } from '../../../backend/model/latch.js';
import type { DecodedImage, Model } from '../../../backend/model/model.js';
import { simulatedLabel, simulatedModel } from '../../../backend/model/simulated-model.js';

const picture = (text: string): Buffer => Buffer.from(text);

function decodeAll(model: Model, texts: readonly string[]): Promise<DecodedImage[]> {
  return Promise.all(texts.map((text) => model.decode(picture(text))));
}

test('every image is answered with the label of its own bytes', async () => {
  const model = simulatedModel();
  const images = await decodeAll(model, ['one', 'two', 'three']);
  const raw = await model.infer(images);
  const labels = images.map((image, index) => model.predict(raw[index] ?? {}, image, {}));
  assert.deepEqual(
    labels,
    ['one', 'two', 'three'].map((text) => [{ label: simulatedLabel(picture(text)), score: 1 }]),
  );
  assert.equal(new Set(['one', 'two', 'three'].map((text) => simulatedLabel(picture(text)))).size, 3);
  assert.deepEqual(model.journal.runs, [3]);
});

test('a held latch keeps the run in flight until it is released', async () => {
  const latch = createLatch({ held: true });
  const model = simulatedModel({ latch });
  let answered = false;
  const run = model.infer(await decodeAll(model, ['one'])).then(() => {
    answered = true;
  });
  await latch.arrived();
  assert.equal(answered, false);
  assert.equal(latch.waiting, 1);
  latch.release();
  await run;
  assert.equal(answered, true);
});

test('a second batch is refused while one runs, as a real device must never get two', async () => {
  const latch = createLatch({ held: true });
  const model = simulatedModel({ latch });
  const images = await decodeAll(model, ['one']);
  const first = model.infer(images);
  await assert.rejects(model.infer(images), /while another one ran/);
  latch.release();
  await first;
  await model.infer(images);
});

test('the runs that are named fail, and those of marked images', async () => {
  const model = simulatedModel({ failRuns: [2], faults: { failRunOn: 'poison' } });
  const good = await decodeAll(model, ['one']);
  await model.infer(good);
  await assert.rejects(model.infer(good), /run 2/);
  await model.infer(good);
  await assert.rejects(model.infer(await decodeAll(model, ['one', 'some poison'])), /one of its images/);
  assert.deepEqual(model.journal.runs, [1, 1, 1, 2]);
  assert.equal(model.journal.answered.length, 2);
});

test('marked images cannot be decoded', async () => {
  const model = simulatedModel({ failDecodeOn: 'corrupt' });
  await assert.rejects(model.decode(picture('a corrupt one')), /image_unreadable/);
  assert.equal((await model.decode(picture('a good one'))).width, model.manifest.input.width);
});

test('a batch over the limit is refused', async () => {
  const model = simulatedModel({ manifest: { batch: { simulated: { max: 2, maxWaitMs: 0 } } } });
  await assert.rejects(model.infer(await decodeAll(model, ['one', 'two', 'three'])), /1 to 2 images, not 3/);
});

test('a release waits for the run in flight and ends the model', async () => {
  const latch = createLatch({ held: true });
  const model = simulatedModel({ latch });
  const images = await decodeAll(model, ['one']);
  const order: string[] = [];
  const run = model.infer(images).then(() => order.push('run'));
  const release = model.release().then(() => order.push('release'));
  latch.release();
  await Promise.all([run, release]);
  assert.deepEqual(order, ['run', 'release']);
  await assert.rejects(model.infer(images), /released/);
});

test('a run costs its base and its images', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const model = simulatedModel({ baseMs: 20, perImageMs: 10 });
  let answered = false;
  const run = model.infer(await decodeAll(model, ['one', 'two'])).then(() => {
    answered = true;
  });
  await nextTurn();
  t.mock.timers.tick(39);
  await nextTurn();
  assert.equal(answered, false);
  t.mock.timers.tick(1);
  await run;
});
