import assert from 'node:assert/strict';
import { test } from 'node:test';
import { drawTrace } from '../../../infra/trace/trace-tree.js';
import { missId, span, wholeMiss } from './spans.js';

test('a miss is drawn as one tree in order of time, with its batch below', () => {
  assert.deepEqual(
    drawTrace(wholeMiss(), missId)
      .split('\n')
      .map((line) => line.trimEnd()),
    [
      `trace ${missId}, 9 spans`,
      'POST                 +0.00     23.00 ms  sampan-edge     server    http.response.status_code=200',
      '├─ digest            +1.00      0.50 ms  sampan-edge     internal',
      '├─ cache lookup      +1.50      0.50 ms  sampan-edge     internal',
      '├─ enqueue           +2.00      1.00 ms  sampan-edge     producer',
      '│  └─ process        +4.00     17.00 ms  sampan-backend  consumer  sampan.queue_ms=0.75',
      '│     ├─ decode      +5.00      4.00 ms  sampan-backend  internal',
      '│     ├─ infer       +9.00     11.00 ms  sampan-backend  internal  → batch batch-id',
      '│     └─ settle     +20.00      1.00 ms  sampan-backend  internal',
      '└─ wait              +3.00     19.00 ms  sampan-edge     internal',
      'batch                +9.00     11.25 ms  sampan-backend  internal  (a trace of its own, bbbbbbbb…)' +
        '  messaging.batch.message_count=4  → process process-',
    ],
  );
});

test('a span whose parent did not arrive stands as a root that says so', () => {
  const spans = wholeMiss().filter(({ name }) => name !== 'enqueue');
  const lines = drawTrace(spans, missId).split('\n');
  const orphan = lines.find((line) => line.startsWith('process'));
  assert.match(orphan ?? '', /\(its parent enqueue-id did not arrive\)/);
  assert.ok(lines.some((line) => line.startsWith('└─ settle')));
});

test('a failed span tells why, and spans of other traces are left out', () => {
  const failed = span('wait', '', [0, 1], { status: { code: 'error', message: 'deadline_exceeded' } });
  const text = drawTrace([failed, span('else', '', [0, 1], { traceId: 'c'.repeat(32) })], missId);
  assert.match(text, /failed: deadline_exceeded/);
  assert.doesNotMatch(text, /else/);
});

test('of many links the first are drawn and the rest counted', () => {
  const links = Array.from({ length: 32 }, (_, i) => ({ traceId: missId, spanId: `${i}`.padStart(16, '0') }));
  const text = drawTrace([span('batch', '', [0, 1], { links })], missId);
  assert.equal(text.match(/→/g)?.length, 4);
  assert.match(text, / and 28 more links$/);
});

test('a trace of which nothing arrived is drawn as empty', () => {
  assert.equal(drawTrace([], missId), `trace ${missId}, 0 spans`);
});
