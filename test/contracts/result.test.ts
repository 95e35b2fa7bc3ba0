import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, failures, isFailureCode } from '../../contracts/failure.js';
import { decodeResult, encodeResult, failedResult, type Result } from '../../contracts/result.js';
import { seededRandom } from '../random.js';

const timing = { queueMs: 1.25, decodeMs: 0, batchWaitMs: 2.5, inferMs: 33, batchSize: 8 };
const succeeded = (predictions: Uint8Array): Result => ({ outcome: 'succeeded', version: '1', timing, predictions });

function assertUnreadable(bytes: Buffer): void {
  const result = decodeResult(bytes);
  assert.deepEqual([result.outcome, result.outcome === 'failed' && result.code], ['failed', 'task_unreadable']);
}

test('predictions of any bytes come back as they were, newlines included', () => {
  const random = seededRandom(3);
  const all = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
  for (const predictions of [
    all,
    Buffer.from('\n\n{"v":1}\n'),
    ...Array.from({ length: 200 }, (_, i) => random.bytes(i)),
  ]) {
    const result = decodeResult(encodeResult(succeeded(predictions)));
    assert.ok(result.outcome === 'succeeded');
    assert.deepEqual(Buffer.from(result.predictions), predictions);
    assert.deepEqual([result.version, result.timing], ['1', timing]);
  }
});

test('every failure of the table comes back with its code and detail', () => {
  for (const code of Object.keys(failures).filter(isFailureCode)) {
    const failed: Result = { outcome: 'failed', code, detail: 'line one\nline "two" \u2028 \u0000 船' };
    const {
      outcome,
      code: back,
      detail,
    } = { code: undefined, detail: undefined, ...decodeResult(encodeResult(failed)) };
    assert.deepEqual({ outcome, code: back, detail }, failed);
  }
});

test('a result that is cut within its head is task_unreadable, at every length', () => {
  const bytes = encodeResult(succeeded(Buffer.from('[1]')));
  for (let length = 0; length <= bytes.indexOf('\n'); length++) assertUnreadable(bytes.subarray(0, length));
});

test('garbage of every length is task_unreadable, never thrown', () => {
  const random = seededRandom(4);
  for (let length = 0; length < 500; length++) {
    assertUnreadable(random.bytes(length));
    assertUnreadable(Buffer.concat([random.bytes(length), Buffer.from('\n'), random.bytes(length)]));
  }
});

test('a head with something missing, unknown, or of another version is task_unreadable', () => {
  const head = { v: 1, outcome: 'succeeded', version: '1', timing };
  const failed = { v: 1, outcome: 'failed', code: 'internal', detail: '' };
  const without = (one: object, name: string) =>
    Object.fromEntries(Object.entries(one).filter(([key]) => key !== name));
  const heads: unknown[] = [
    ...Object.keys(head).map((name) => without(head, name)),
    ...Object.keys(failed).map((name) => without(failed, name)),
    ...[
      { ...head, v: 2 },
      { ...head, more: 1 },
      { ...failed, code: 'toString' },
      { ...failed, code: 'unheard_of' },
    ],
    ...[
      { ...head, timing: { ...timing, batchSize: 1.5 } },
      { ...head, timing: without(timing, 'inferMs') },
    ],
    ...[null, [], 7, 'x', { ...head, outcome: 'pending' }],
  ];
  for (const wrong of heads) assertUnreadable(Buffer.from(`${JSON.stringify(wrong)}\n[]`));
  assert.equal(decodeResult(Buffer.from(`${JSON.stringify(head)}\n[]`)).outcome, 'succeeded');
});

test('a coded failure keeps its words; an uncoded error is told without its inner ones', () => {
  const failure = new Failure('image_unreadable', 'the scan ends early');
  assert.deepEqual(failedResult(failure, 'inference_failed', 'no'), {
    ...{ outcome: 'failed', code: 'image_unreadable', detail: 'the scan ends early' },
  });
  assert.deepEqual(failedResult(new Error('secret'), 'inference_failed', 'no'), {
    ...{ outcome: 'failed', code: 'inference_failed', detail: 'no' },
  });
});
