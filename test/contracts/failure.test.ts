import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure, failures, isFailureCode } from '../../contracts/failure.js';

const table = Object.entries(failures);

test('every code is snake_case and every failure is a client or a server error', () => {
  for (const [code, { status }] of table) {
    assert.match(code, /^[a-z]+[a-z0-9]*(_[a-z0-9]+)*$/);
    assert.ok(Number.isInteger(status) && status >= 400 && status <= 599, code);
  }
});

test('every message is one sentence for people, and no two are the same', () => {
  for (const [code, { message }] of table) assert.match(message, /^[A-Z][^.]*\.$/, code);
  assert.equal(new Set(table.map(([, { message }]) => message)).size, table.length);
});

test('what the server could not do may be tried again; what the client got wrong may not', () => {
  const retryableClientErrors = table.filter(([, { status, retryable }]) => status < 500 && retryable);
  assert.deepEqual(
    retryableClientErrors.map(([code]) => code),
    ['body_incomplete', 'request_timeout', 'rate_limited', 'quota_exhausted', 'too_many_at_once'],
  );
  const ours = table.filter(([, { status, retryable }]) => status >= 500 && !retryable);
  // Sending the same image again would end another process.
  assert.deepEqual(
    ours.map(([code]) => code),
    ['task_dead'],
  );
});

test('the codes that clients and dashboards rely on are all there', () => {
  assert.deepEqual(table.map(([code]) => code).sort(), [
    ...['body_incomplete', 'body_too_large', 'credentials_expired', 'credentials_invalid', 'credentials_missing'],
    ...['deadline_exceeded', 'edge_stopping', 'headers_too_large', 'idempotency_mismatch'],
    ...['image_missing', 'image_too_large'],
    ...['image_unreadable', 'inference_failed', 'internal', 'invalid_base64', 'invalid_digest', 'invalid_header'],
    ...[
      'invalid_json',
      'invalid_multipart',
      'invalid_params',
      'malformed_request',
      'method_not_allowed',
      'model_not_allowed',
    ],
    ...['model_not_found', 'model_version_gone', 'no_live_consumer', 'overloaded', 'permission_missing'],
    ...['quota_exhausted', 'rate_limited', 'request_timeout', 'result_not_found', 'route_not_found', 'sha256_required'],
    ...[
      'stream_unavailable',
      'task_dead',
      'task_lost',
      'task_not_found',
      'task_unreadable',
      'tokens_unverifiable',
      'too_many_at_once',
      'trace_not_found',
      'traces_unavailable',
      'unsupported_content_type',
    ],
    'unsupported_image',
  ]);
});

test('only codes of the table count as codes', () => {
  assert.ok(isFailureCode('overloaded'));
  for (const other of ['toString', '__proto__', 'nothing', 7, undefined]) assert.equal(isFailureCode(other), false);
});

test('a failure carries its code, its detail, its cause and when to come back', () => {
  const cause = new Error('inner');
  const failure = new Failure('overloaded', 'too much', { cause, retryAfter: 3 });
  assert.deepEqual(
    [failure.code, failure.detail, failure.cause, failure.retryAfter],
    ['overloaded', 'too much', cause, 3],
  );
});
