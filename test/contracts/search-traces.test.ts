import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { keepSpans, searchTraces, type TraceQuery } from '../../contracts/kept-traces.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { requestSpan } from '../kept-spans.js';
import { testRedis } from '../redis.js';

/** Two hundred and fifty requests, a second apart: of three models, each tenth failed, each slower than the one before. */
const redis = await testRedis({ role: 'cache' });
const client = defineScripts(redis.client());
const startMs = 1_800_000_000_000;
const models = ['one', 'two', 'three'];

before(async () => {
  const spans = Array.from({ length: 250 }, (_, i) => {
    const status = i % 10 === 0 ? 503 : 200;
    const attributes = { 'sampan.model': models[i % 3] ?? '', 'http.response.status_code': status };
    return requestSpan({ trace: i + 1, startMs: startMs + i * 1000, ms: i + 1, more: { attributes } }, status === 503);
  });
  await keepSpans(client, spans);
});

const search = async (query: TraceQuery, count = 3) =>
  (await searchTraces(client, query, count)).map(({ traceId }) => Number(`0x${traceId}`));

test('the last come first, and so many as are wanted', async () => {
  assert.deepEqual(await search({}), [250, 249, 248]);
  assert.equal((await search({}, 500)).length, 250);
});

test('what is asked for is found, however far back it lies among others', async () => {
  assert.deepEqual(await search({ model: 'two' }), [248, 245, 242]);
  assert.deepEqual(await search({ model: 'none' }), []);
  assert.deepEqual(await search({ status: '5' }), [241, 231, 221]);
  assert.deepEqual(await search({ status: '503', model: 'one' }, 100), [241, 211, 181, 151, 121, 91, 61, 31, 1]);
  assert.deepEqual(await search({ status: '404' }), []);
  assert.deepEqual(await search({ sinceMs: startMs + 248_000 }, 100), [250, 249]);
});

test('where slow ones are asked for, the slowest come first, and none that was faster', async () => {
  assert.deepEqual(await search({ minMs: 248 }, 100), [250, 249, 248]);
  assert.deepEqual(await search({ minMs: 1, status: '5' }), [241, 231, 221]);
  assert.deepEqual(await search({ minMs: 1000 }), []);
});
