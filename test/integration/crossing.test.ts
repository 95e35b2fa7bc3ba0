import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { before, describe, test } from 'node:test';
import { createLatch } from '../../backend/model/latch.js';
import { decodeImage } from '../../backend/model/preprocess.js';
import { simulatedLabel, simulatedModel } from '../../backend/model/simulated-model.js';
import { picture } from '../pictures.js';
import { leftovers, nothingLeft, predict, servedBy, testSystem, until } from './system.js';

const system = await testSystem();
const latch = createLatch();
const model = simulatedModel({ latch, manifest: { name: 'latched' } });
/** Decodes for real, so that damage is found where it is found in production. */
const decoding = simulatedModel({ latch, manifest: { name: 'decoding' } });
let decodings = 0;
const decodingModel = {
  ...decoding,
  decode: (image: Uint8Array) => decodeImage(image, decoding.manifest.input, 1e8).finally(() => decodings++),
};
let url = '';

before(async () => {
  await system.backend(servedBy(model, decodingModel));
  ({ url } = await system.edge());
});

const left = (name: string) => leftovers(system.stream, name);

test('64 callers at once with different pictures each get the answer to their own', async () => {
  const pictures = Array.from({ length: 64 }, (_, number) => picture(`own-${String(number)}`));
  const answers = await Promise.all(pictures.map((image) => predict(url, 'latched', image)));
  for (const [i, answer] of answers.entries()) {
    assert.deepEqual([answer.status, answer.cache], [200, 'miss']);
    assert.equal(answer.body.predictions[0].label, simulatedLabel(pictures[i] ?? Buffer.alloc(0)));
  }
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 64);
  assert.deepEqual(await left('latched'), nothingLeft);
});

test('200 callers at once with the same picture share one inference', async () => {
  const image = picture('shared');
  const before = model.journal.answered.length;
  latch.hold();
  const asked = Array.from({ length: 200 }, () => predict(url, 'latched', image));
  await latch.arrived();
  await until(
    () => system.stream.hgetall('sampan:{latched:0}:work'),
    (work) => Object.keys(work).length === 1,
  );
  const [taskId = ''] = Object.values(await system.stream.hgetall('sampan:{latched:0}:work'));
  await until(
    () => system.stream.hget(`sampan:{latched:0}:task:${taskId}`, 'waiters'),
    (waiters) => waiters === '200',
  );
  latch.release();
  const answers = await Promise.all(asked);
  assert.equal(model.journal.answered.length - before, 1);
  assert.equal(answers.filter(({ status }) => status === 200).length, 200);
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, 1);
  assert.equal(answers.filter(({ cache }) => cache === 'joined').length, 199);
  assert.deepEqual(await left('latched'), nothingLeft);
});

test('row 18: a batch with one corrupt image answers the other 31', async () => {
  const pictures = Array.from({ length: 32 }, (_, number) => picture(`batch-${String(number)}`));
  const whole = pictures[13] ?? Buffer.alloc(0);
  // The header is whole, so only decoding can tell.
  const corrupt = Buffer.concat([whole.subarray(0, 200), Buffer.alloc(whole.length - 200, 0x55)]);
  pictures[13] = corrupt;
  latch.hold();
  const first = predict(url, 'decoding', picture('in front'));
  await latch.arrived();
  const asked = pictures.map((image) => predict(url, 'decoding', image));
  await until(
    () => decodings,
    (count) => count === 33,
  );
  latch.release();
  const answers = await Promise.all(asked);
  assert.equal((await first).status, 200);
  for (const [i, answer] of answers.entries()) {
    assert.equal(answer.status, i === 13 ? 422 : 200, JSON.stringify(answer.body));
  }
  assert.equal(answers[13]?.body.code, 'image_unreadable');
  assert.deepEqual(decoding.journal.runs, [1, 31]);
  assert.deepEqual(await left('decoding'), nothingLeft);
});

test('the next batch is decoded while the device still runs the present one', async () => {
  latch.hold();
  const decodedBefore = model.journal.decoded;
  const present = predict(url, 'latched', picture('present'));
  await latch.arrived();
  const next = Array.from({ length: 8 }, (_, number) => predict(url, 'latched', picture(`next-${String(number)}`)));
  await until(
    () => model.journal.decoded - decodedBefore,
    (decoded) => decoded === 9,
  );
  assert.equal(latch.waiting, 1);
  assert.equal(model.journal.runs.at(-1), 1);
  latch.release();
  for (const answer of await Promise.all([present, ...next])) assert.equal(answer.status, 200);
  assert.equal(model.journal.runs.at(-1), 8);
});

test(
  'row 19: with the device held a request is answered 504 at its deadline, and its task has left',
  { timeout: 60_000 },
  async () => {
    latch.hold();
    const held = predict(url, 'latched', picture('holds the device'));
    await latch.arrived();
    const late = await predict(url, 'latched', picture('late'), { 'x-timeout-ms': '200' });
    assert.deepEqual([late.status, late.body.code], [504, 'deadline_exceeded']);
    assert.match(late.body.detail, /latched\.0\.[0-9a-f-]{36}/);
    assert.equal(latch.held, true);
    latch.release();
    assert.equal((await held).status, 200);
    await until(
      () => left('latched'),
      (state) => JSON.stringify(state) === JSON.stringify(nothingLeft),
    );
  },
);

describe('two pictures of equal MD5 and different bytes', async () => {
  const a = await readFile('test/fixtures/same-md5-a.jpg');
  const b = await readFile('test/fixtures/same-md5-b.jpg');
  const digests = async (bytes: Uint8Array) => {
    const { createHash } = await import('node:crypto');
    const hex = (name: string) => createHash(name).update(bytes).digest('hex');
    return { md5: hex('md5'), sha256: hex('sha256') };
  };

  test('never answer for each other in flight', async () => {
    latch.hold();
    const front = predict(url, 'latched', picture('front'));
    await latch.arrived();
    const asked = [predict(url, 'latched', a), predict(url, 'latched', b), predict(url, 'latched', b)];
    await until(
      () => left('latched') as Promise<{ pending: number }>,
      ({ pending }) => pending >= 3,
    );
    latch.release();
    const [ofA, ofB] = await Promise.all(asked);
    assert.equal(ofA?.body.predictions[0].label, simulatedLabel(a));
    assert.equal(ofB?.body.predictions[0].label, simulatedLabel(b));
    assert.equal((await front).status, 200);
    assert.deepEqual(await left('latched'), nothingLeft);
  });

  test('never answer for each other from the cache or by lookup', async () => {
    const ofA = await digests(a);
    const ofB = await digests(b);
    assert.equal(ofA.md5, ofB.md5);
    assert.notEqual(simulatedLabel(a), simulatedLabel(b));
    const lookUp = async ({ md5, sha256 }: { md5: string; sha256: string }) => {
      const response = await fetch(`${url}/v1/models/latched/results/${md5}?sha256=${sha256}`);
      const body: any = await response.json(); // eslint-disable-line @typescript-eslint/no-explicit-any
      return response.status === 200 ? body.predictions[0].label : response.status;
    };
    for (const [mine, image, other] of [
      [ofA, a, ofB],
      [ofB, b, ofA],
    ] as const) {
      await system.cache.flushall();
      assert.equal((await predict(url, 'latched', image)).cache, 'miss');
      await until(
        () => lookUp(mine),
        (label) => label === simulatedLabel(image),
      );
      assert.equal(await lookUp(other), 404);
    }
    const again = await predict(url, 'latched', a);
    assert.deepEqual([again.cache, again.body.predictions[0].label], ['miss', simulatedLabel(a)]);
  });
});
