import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { decodeKeptSpan, type KeptSpan } from '../../contracts/kept-span.js';
import {
  defaultKeepLimits,
  findTrace,
  keepSpans,
  listTraces,
  readTrace,
  type KeepLimits,
} from '../../contracts/kept-traces.js';
import { traceKey, traceKeys } from '../../contracts/keys.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { keptSpan, requestSpan, spanIdOf, traceIdOf } from '../kept-spans.js';
import { keysLeft, testRedis } from '../redis.js';

const redis = await testRedis({ role: 'cache' });
const client = defineScripts(redis.client());
const start = Date.now();
const hour = 3_600_000;
beforeEach(() => client.flushall());

const keep = (spans: readonly KeptSpan[], limits: Partial<KeepLimits> = {}, now = start) =>
  keepSpans(client, spans, { ...defaultKeepLimits, ...limits }, now);
const listed = async (which: 'recent' | 'slow' | 'failed') =>
  (await listTraces(client, which, 1000)).map(({ traceId }) => Number(`0x${traceId}`));
const keptTraces = async () =>
  (await keysLeft(client))
    .filter((key) => key.startsWith(traceKey('')))
    .map((key) => Number(`0x${key.slice(traceKey('').length)}`));
const range = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, i) => from + i);

test('a trace whose spans come in parts, of two processes and the request last, is read whole', async () => {
  const backend = [keptSpan({ trace: 1, span: 3, parent: 2 }), keptSpan({ trace: 1, span: 4, parent: 3 })];
  assert.equal(await keep(backend), 2);
  assert.deepEqual(await listed('slow'), []);
  const edge = [keptSpan({ trace: 1, span: 2, parent: 1 }), requestSpan({ trace: 1, ms: 40 })];
  assert.equal(await keep(edge), 2);
  const spans = await readTrace(client, traceIdOf(1));
  const byId = (a: KeptSpan, b: KeptSpan) => (a.spanId < b.spanId ? -1 : 1);
  assert.deepEqual([...spans].sort(byId), [...backend, ...edge].sort(byId));
  const [summary] = await listTraces(client, 'slow', 10);
  assert.deepEqual([summary?.ms, summary?.traceId, summary?.startMs], [40, traceIdOf(1), 1000]);
});

test('equal spans that come twice are kept, and counted, once', async () => {
  const spans = [requestSpan({ trace: 1 }), keptSpan({ trace: 1, span: 2, parent: 1 })];
  await keep(spans);
  const before = await client.hgetall(traceKeys.about);
  assert.equal(await keep(spans), 2, 'those that are there already count as kept');
  assert.deepEqual(await client.hgetall(traceKeys.about), before);
  assert.equal((await readTrace(client, traceIdOf(1))).length, 2);
});

test('of more traces than may be kept the oldest go, but not the slowest and the failed', async () => {
  const limits = { traces: 10, slow: 2, failed: 2 };
  const traceOf = (trace: number) =>
    requestSpan({ trace, startMs: 1000 + trace, ms: trace <= 2 ? 500 : 5 }, trace === 3 || trace === 4);
  for (const trace of range(1, 40)) await keep([traceOf(trace)], limits, start + trace);
  assert.deepEqual(await keptTraces(), [...range(1, 4), ...range(35, 40)]);
  assert.deepEqual(await listed('slow'), [2, 1]);
  assert.deepEqual(await listed('failed'), [4, 3]);
  assert.deepEqual(await listed('recent'), [...range(35, 40).reverse(), 4, 3, 2, 1]);
});

test('who is no longer among the slowest, or the last that failed, has the usual time alone', async () => {
  const limits = { slow: 1, failed: 1 };
  await keep([requestSpan({ trace: 1, ms: 10 })], limits);
  await keep([requestSpan({ trace: 2, ms: 20 })], limits);
  await keep([requestSpan({ trace: 3, ms: 1, startMs: 2000 }, true)], limits);
  await keep([requestSpan({ trace: 4, ms: 1, startMs: 3000 }, true)], limits);
  await keep([requestSpan({ trace: 5, ms: 1 })], limits, start + 2 * hour);
  assert.deepEqual(await keptTraces(), [2, 4, 5]);
});

test('a trace goes after its time, and one that was slow or failed after its longer one', async () => {
  const limits = { slow: 1, failed: 1 };
  await keep([requestSpan({ trace: 1, ms: 900 })], limits);
  await keep([requestSpan({ trace: 2 }, true)], limits);
  await keep([requestSpan({ trace: 3 }), keptSpan({ trace: 3, span: 2 })], limits);
  const later = (hours: number, trace: number) => keep([requestSpan({ trace })], limits, start + hours * hour);
  await later(0.9, 4);
  assert.deepEqual(await keptTraces(), [1, 2, 3, 4]);
  await later(1.5, 5);
  assert.deepEqual(await keptTraces(), [1, 2, 4, 5]);
  await later(25, 6);
  assert.deepEqual(await keptTraces(), [6]);
});

test('a trace ends by itself where nobody writes any more, and the slowest later', async () => {
  const limits = { slow: 1 };
  await keep([requestSpan({ trace: 1, ms: 9 }), keptSpan({ trace: 1, span: 2 })], limits);
  await keep([requestSpan({ trace: 2 })], limits);
  assert.equal(await client.pexpiretime(traceKey(traceIdOf(1))), start + defaultKeepLimits.longMs);
  assert.equal(await client.pexpiretime(traceKey(traceIdOf(2))), start + defaultKeepLimits.usualMs);
});

test('all traces together stay within their bytes, as Redis counts them, and the newest are there', async () => {
  const bytes = 300_000;
  const about = { attributes: { 'url.path': '/x'.repeat(300), 'sampan.request_id': 'r' } };
  for (const trace of range(1, 300)) {
    const more = { ...about, attributes: { ...about.attributes, 'sampan.request_id': `request-${String(trace)}` } };
    await keep(
      [requestSpan({ trace, more }), ...range(2, 5).map((span) => keptSpan({ trace, span, parent: 1, more }))],
      { bytes, slow: 0, failed: 0 },
      start + trace,
    );
  }
  const keys = await keysLeft(client);
  const used = await Promise.all(keys.map((key) => client.memory('USAGE', key, 'SAMPLES', 0)));
  const total = used.reduce<number>((sum, one) => sum + Number(one), 0);
  const kept = await keptTraces();
  assert.ok(total < bytes * 1.1, `${String(total)} bytes`);
  assert.deepEqual(kept, range(301 - kept.length, 300));
  assert.ok(kept.length > 20, `${String(kept.length)} traces`);
});

test('what lets all traces go leaves nothing behind', async () => {
  const named = { attributes: { 'sampan.request_id': 'mine' } };
  await keep([requestSpan({ trace: 1, more: named }, true)]);
  await keep([requestSpan({ trace: 2 })], {}, start + 25 * hour);
  await keep([keptSpan({ trace: 3, span: 1 })], { traces: 0 }, start + 26 * hour);
  assert.deepEqual(await keysLeft(client), [traceKeys.about]);
  assert.deepEqual(await client.hgetall(traceKeys.about), { '@bytes': '0' });
});

test('of a trace with too many spans the first are kept, and the others are told', async () => {
  const spans = range(1, 9).map((span) => keptSpan({ trace: 1, span }));
  assert.equal(await keep(spans.slice(0, 4), { spansOfTrace: 6 }), 4);
  assert.equal(await keep(spans.slice(4), { spansOfTrace: 6 }), 2);
  assert.equal((await readTrace(client, traceIdOf(1))).length, 6);
  const late = [keptSpan({ trace: 1, span: 10 }), requestSpan({ trace: 1, ms: 77, more: { spanId: 'f'.repeat(16) } })];
  assert.equal(await keep(late, { spansOfTrace: 6 }), 1, 'the request comes last, and is kept all the same');
  assert.equal((await listTraces(client, 'slow', 1))[0]?.ms, 77);
});

test('a trace that never ends does not grow for ever: neither in requests nor in names', async () => {
  const callers = (round: number) => ({ attributes: { 'sampan.request_id': `again-${String(round)}` } });
  for (const round of range(1, 20)) {
    await keep([requestSpan({ trace: 1, more: { ...callers(round), spanId: spanIdOf(round) } })], { spansOfTrace: 6 });
  }
  assert.equal((await readTrace(client, traceIdOf(1))).length, 7);
  assert.equal(await client.hlen(traceKeys.names), 7);
});

test('who follows a task as long as it asked to is not among the slowest, but among the recent', async () => {
  await keep([requestSpan({ trace: 1, ms: 60_000, more: { attributes: { 'http.route': '/v1/tasks/:id/events' } } })]);
  await keep([requestSpan({ trace: 2, ms: 1, more: { attributes: { 'http.route': '/v1/models/:model/predict' } } })]);
  assert.deepEqual([await listed('slow'), await listed('recent')], [[2], [2, 1]]);
});

test('a trace is read with its batch, and a batch with its members; a slow one keeps its batch', async () => {
  const linkTo = (span: KeptSpan) => ({ links: [{ traceId: span.traceId, spanId: span.spanId }] });
  const member = keptSpan({ trace: 1, span: 2, parent: 1 });
  const batch = keptSpan({ trace: 2, span: 7, more: { name: 'batch', kind: 'internal', ...linkTo(member) } });
  const infer = keptSpan({ trace: 1, span: 3, parent: 2, more: { name: 'infer', ...linkTo(batch) } });
  await keep([infer, member]);
  await keep([requestSpan({ trace: 1, ms: 300 })], { slow: 1 });
  await keep([batch]);
  await keep([requestSpan({ trace: 3 })], { slow: 1 }, start + 3 * hour);
  const names = async (trace: number) => (await readTrace(client, traceIdOf(trace))).map(({ name }) => name).sort();
  assert.deepEqual(await names(1), ['POST', 'batch', 'infer', 'process']);
  assert.deepEqual(await names(2), ['batch', 'process']);
});

test("a trace is found by its own id, its request's and its task's, and by none once it has gone", async () => {
  const request = requestSpan({ trace: 1, more: { attributes: { 'sampan.request_id': 'r-1' } } });
  const enqueue = keptSpan({ trace: 1, span: 2, more: { attributes: { 'messaging.message.id': 'coco.0.x' } } });
  await keep([request, enqueue]);
  for (const id of ['r-1', 'coco.0.x', traceIdOf(1)]) assert.equal(await findTrace(client, id), traceIdOf(1));
  await keep([requestSpan({ trace: 2, more: { attributes: { 'sampan.request_id': 'r-1' } } })], {}, start + hour);
  await keep([requestSpan({ trace: 3 })], {}, start + 24.5 * hour);
  assert.equal(await findTrace(client, 'r-1'), traceIdOf(2), 'a later request of the same id keeps its name');
  for (const id of ['coco.0.x', traceIdOf(1), 'nobody']) assert.equal(await findTrace(client, id), undefined);
});

test('where keys were evicted nothing breaks, and what is left can be read', async () => {
  await keep([requestSpan({ trace: 1, ms: 5 })]);
  await keep([requestSpan({ trace: 2, ms: 9 })]);
  await client.del(traceKey(traceIdOf(1)), traceKeys.about);
  assert.deepEqual(await listed('slow'), [2]);
  for (const key of Object.values(traceKeys)) {
    await client.del(key);
    assert.equal(await keep([keptSpan({ trace: 3, span: 1 })]), 1);
  }
  await keep([requestSpan({ trace: 4 })], {}, start + 30 * hour);
  assert.deepEqual(await listed('recent'), [4]);
});

test('where the index of what goes next was evicted, all are made anew, and nothing is counted for ever', async () => {
  for (const trace of range(1, 5)) await keep([requestSpan({ trace }, true)]);
  await client.del(traceKeys.until);
  await keep([requestSpan({ trace: 6 })]);
  assert.deepEqual([await listed('recent'), await listed('failed')], [[6], []]);
  const { '@bytes': all, [traceIdOf(6)]: own, ...others } = await client.hgetall(traceKeys.about);
  assert.deepEqual([all, others], [own, {}]);
});

test('a value that is none of ours is passed over', async () => {
  await keep([requestSpan({ trace: 1 })]);
  await client.hset(traceKey(traceIdOf(1)), 'x', 'no JSON', 'y', '{"traceId":"1"}');
  assert.equal((await readTrace(client, traceIdOf(1))).length, 1);
  assert.equal(decodeKeptSpan('null'), undefined);
});
