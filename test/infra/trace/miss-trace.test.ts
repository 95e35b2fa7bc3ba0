import assert from 'node:assert/strict';
import { test } from 'node:test';
import { missingFromMiss } from '../../../infra/trace/miss-trace.js';
import { missId, wholeMiss } from './spans.js';

test('the spans of a whole miss lack nothing', () => {
  assert.deepEqual(missingFromMiss(wholeMiss(), missId), []);
});

test('each span that a miss must have is missed by name', () => {
  for (const name of ['digest', 'cache lookup', 'enqueue', 'wait', 'process', 'decode', 'infer', 'settle']) {
    const missing = missingFromMiss(
      wholeMiss().filter((span) => span.name !== name),
      missId,
    );
    assert.ok(missing.includes(`there is no span "${name}"`), name);
  }
  const withoutServer = wholeMiss().filter((span) => span.kind !== 'server');
  assert.ok(missingFromMiss(withoutServer, missId).includes('there is no server span'));
});

test('a backend that lost the trace on the way is found out', () => {
  const elsewhere = wholeMiss().map((span) =>
    span.service === 'sampan-backend' ? { ...span, traceId: 'c'.repeat(32) } : span,
  );
  assert.ok(missingFromMiss(elsewhere, missId).includes('there is no span "process"'));
});

test('a process span that hangs below the server span instead of the enqueue span is found out', () => {
  const flat = wholeMiss().map((span) => (span.name === 'process' ? { ...span, parentSpanId: 'POST-id' } : span));
  assert.deepEqual(missingFromMiss(flat, missId), ['"process" is no child of "enqueue"']);
});

test('a batch must link the process span, be a root, and be linked by the infer span', () => {
  const change = (name: string, more: object) =>
    missingFromMiss(
      wholeMiss().map((span) => (span.name === name ? { ...span, ...more } : span)),
      missId,
    );
  assert.deepEqual(change('batch', { links: [] }), ['there is no batch span that links "process"']);
  assert.deepEqual(change('batch', { parentSpanId: 'process-id' }), ['the batch span is no root']);
  assert.deepEqual(change('infer', { links: [] }), ['"infer" does not link the batch span']);
});
