import assert from 'node:assert/strict';
import { test } from 'node:test';
import { failures, isFailureCode, type FailureCode } from '../../contracts/failure.js';
import { partitionKeys } from '../../contracts/keys.js';
import { testRedis } from '../redis.js';
import type { Answer } from './access-failures.js';
import { failingSystem } from './failing-system.js';
import { failureWays } from './failure-ways.js';
import { until } from './system.js';

const failing = await failingSystem(async (path, init, base) => {
  const response = await fetch(`${base}${path}`, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
});
const { stream } = failing;
const ways = failureWays(failing, await testRedis());

for (const [code, way] of Object.entries(ways)) {
  test(`${code} is reached through the whole system, and told as the table says`, async () => {
    const answer = await way();
    assert.ok(isFailureCode(code));
    if (answer) assertProblem(code, answer);
    else assert.equal(code, 'body_incomplete');
  });
}

function assertProblem(code: FailureCode, { status, headers, text }: Answer): void {
  const { traceId, detail, models, ...body }: Record<string, unknown> = JSON.parse(text);
  const { status: stated, retryable, message } = failures[code];
  const requestId = headers.get('x-request-id');
  assert.deepEqual(body, { type: `/problems/${code}`, title: message, status: stated, code, retryable, requestId });
  assert.equal(status, stated);
  assert.equal(headers.get('content-type'), 'application/problem+json');
  assert.match(String(requestId), /^[0-9a-f-]{36}$/);
  assert.match(String(traceId), /^(?!0{32})[0-9a-f]{32}$/);
  assert.equal(headers.get('traceresponse')?.split('-')[1], traceId);
  assert.ok(typeof detail === 'string' && detail.length > 0);
  assert.equal(Array.isArray(models), code === 'model_not_found');
  if (stated === 503) assert.match(headers.get('retry-after') ?? '', /^([1-9]|[12]\d|30)$/);
  else if (stated === 429) assert.match(headers.get('retry-after') ?? '', /^[1-9]\d{0,4}$/);
  else assert.equal(headers.get('retry-after'), null);
  assert.equal(headers.has('www-authenticate'), stated === 401);
}

test('what failed leaves nothing behind', async () => {
  for (const model of ['latched', 'failing', 'aged', 'plain', 'later', 'broken', 'deadly']) {
    const { work, load } = partitionKeys(model);
    await until(
      () => Promise.all([stream.exists(work, load), stream.xlen(partitionKeys(model).tasks('normal'))]),
      ([keys, entries]) => keys === 0 && entries === 0,
    );
  }
});
