import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace, type Meter } from '@opentelemetry/api';
import { tracing } from '@opentelemetry/sdk-node';
import type { KeptSpan } from '../../../contracts/kept-span.js';
import { readTrace } from '../../../contracts/kept-traces.js';
import { keptSpanOf } from '../../../infra/process/kept-span.js';
import { openSpanKeeper } from '../../../infra/process/span-keeper.js';
import { startTelemetry, type Telemetry } from '../../../infra/process/telemetry.js';
import { createTraceStore } from '../../../infra/process/trace-store.js';
import { scrape } from '../../exposition.js';
import { startFaultProxy } from '../../fault-proxy.js';
import { until } from '../../integration/system.js';
import { testOtlpReceiver } from '../../otlp-receiver.js';
import { testRedis } from '../../redis.js';

const receiver = await testOtlpReceiver();
const redis = await testRedis({ role: 'cache' });
const cache = redis.client();
const proxy = await startFaultProxy(redis.port);
const warnings: string[] = [];
const logger = { info: () => undefined, warn: (_fields: object, message: string) => warnings.push(message) };
const keeper = openSpanKeeper(proxy.url, 'test-traces', logger);
const started: Telemetry[] = [];
after(async () => {
  await Promise.all(started.map((telemetry) => telemetry.shutdown()));
  keeper.close();
  await proxy.close();
});

type Environment = Readonly<Record<string, string>>;
const all: Environment = { OTEL_TRACES_SAMPLER: 'always_on' };

async function start(env: Environment = all, isKept = true): Promise<Telemetry> {
  const options = { service: 'sampan-test', instance: 'one', host: '127.0.0.1', metricsPort: 0 };
  const telemetry = await startTelemetry({ ...options, env, keeper: isKept ? keeper : undefined });
  started.push(telemetry);
  return telemetry;
}

/** Ends a span; answers its trace id. */
function end({ tracer }: Telemetry, name = 'work'): string {
  const span = tracer.startSpan(name);
  span.end();
  return span.spanContext().traceId;
}

/** Counted so far; by one reason where it is named. */
async function counted({ metricsUrl = '' }: Telemetry, name: 'kept' | 'dropped', reason?: string): Promise<number> {
  const samples = (await scrape(metricsUrl)).find(`trace_spans_${name}_total`, reason === undefined ? {} : { reason });
  return samples.reduce((sum, { value }) => sum + value, 0);
}

const keptOf = (traceId: string) =>
  until(
    async () => readTrace(cache, traceId),
    (spans) => spans.length > 0,
  );

test('an ended span is kept as it was: times, attributes, links, status, and whose it is', async () => {
  const telemetry = await start();
  const other = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), traceFlags: 1 };
  const parent = telemetry.tracer.startSpan('parent');
  const context = trace.setSpan(ROOT_CONTEXT, parent);
  const options = { kind: SpanKind.PRODUCER, startTime: [1_800_000_000, 5] as [number, number] };
  const span = telemetry.tracer.startSpan('enqueue', { ...options, links: [{ context: other }] }, context);
  span.setAttributes({ text: 'x', count: 2, flag: true, list: ['a', 'b'] });
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'no' });
  span.end([1_800_000_001, 7]);
  const { traceId, spanId } = span.spanContext();
  assert.deepEqual(await keptOf(traceId), [
    {
      ...{ traceId, spanId, parentSpanId: parent.spanContext().spanId, name: 'enqueue', kind: 'producer' },
      ...{ startNs: '1800000000000000005', endNs: '1800000001000000007', service: 'sampan-test', instance: 'one' },
      attributes: { text: 'x', count: 2, flag: true, list: ['a', 'b'] },
      links: [{ traceId: other.traceId, spanId: other.spanId }],
      status: { code: 'error', message: 'no' },
    },
  ]);
  assert.equal(await counted(telemetry, 'kept'), 1);
});

test('a collector beside the store gets the same spans, each once; ending a span twice keeps it once', async () => {
  const telemetry = await start({ ...all, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url });
  const span = telemetry.tracer.startSpan('both');
  const { traceId } = span.spanContext();
  span.end();
  span.end();
  assert.equal((await keptOf(traceId)).length, 1);
  await receiver.waitFor((spans) => spans.some((sent) => sent.traceId === traceId), 10_000);
  await telemetry.shutdown();
  assert.equal(receiver.spans().filter((sent) => sent.traceId === traceId).length, 1);
});

test('a collector instead of the store, or neither: nothing is kept', async () => {
  const before = await cache.dbsize();
  const one = await start({ ...all, OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url }, false);
  const traceId = end(one);
  await receiver.waitFor((spans) => spans.some((sent) => sent.traceId === traceId), 10_000);
  const neither = await start(all, false);
  assert.equal(neither.exportsTraces, false);
  end(neither);
  await Promise.all([one.shutdown(), neither.shutdown()]);
  assert.equal(await cache.dbsize(), before);
});

test('what is not sampled is not kept, and shutdown keeps what waits', async () => {
  const none = await start({ OTEL_TRACES_SAMPLER: 'always_off' });
  const left = end(none);
  await none.shutdown();
  const telemetry = await start();
  const traceId = end(telemetry, 'last words');
  await telemetry.shutdown();
  assert.equal((await readTrace(cache, traceId)).length, 1);
  assert.deepEqual(await readTrace(cache, left), []);
});

test('a store that is away costs spans, which are counted, and is written again when it is back', async () => {
  const telemetry = await start();
  proxy.refuse();
  const lost = end(telemetry);
  await until(
    () => counted(telemetry, 'dropped', 'unwritten'),
    (count) => count === 1,
  );
  proxy.accept();
  await until(
    () => {
      end(telemetry);
      return counted(telemetry, 'kept');
    },
    (count) => count > 0,
  );
  assert.deepEqual(await readTrace(cache, lost), []);
  assert.ok(warnings.includes('spans were not kept'));
});

/** A keeper whose answers the test gives, and counts told when they are asked for. */
function heldKeeper() {
  const asked: { readonly spans: readonly KeptSpan[]; readonly answer: (kept: number | Error) => void }[] = [];
  const sums = new Map<string, number>();
  const meter: Pick<Meter, 'createCounter'> = {
    createCounter: (name) => ({
      add: (count, labels) => {
        const key = [name, ...Object.values(labels ?? {})].join(' ');
        sums.set(key, (sums.get(key) ?? 0) + count);
      },
    }),
  };
  return {
    ...{ asked, sums, meter },
    warn: () => undefined,
    keep: (spans: readonly KeptSpan[]) =>
      new Promise<number>((resolve, reject) => {
        asked.push({ spans, answer: (kept) => (kept instanceof Error ? reject(kept) : resolve(kept)) });
      }),
  };
}

/** Real spans of the SDK, ended, to be handed to a store. */
async function endedSpans(count: number): Promise<tracing.ReadableSpan[]> {
  const exporter = new tracing.InMemorySpanExporter();
  const provider = new tracing.BasicTracerProvider({ spanProcessors: [new tracing.SimpleSpanProcessor(exporter)] });
  for (let i = 0; i < count; i++) provider.getTracer('test').startSpan(String(i)).end();
  await provider.forceFlush();
  return exporter.getFinishedSpans();
}

test('no more than may wait wait: what comes while a write hangs is dropped and counted', async () => {
  const held = heldKeeper();
  const store = createTraceStore({ ...held, mostWaiting: 10, everyMs: 1 });
  const spans = await endedSpans(31);
  spans.slice(0, 1).forEach((span) => store.onEnd(span));
  await until(
    () => held.asked.length,
    (count) => count === 1,
  );
  spans.slice(1).forEach((span) => store.onEnd(span));
  assert.equal(held.sums.get('trace_spans_dropped full'), 20);
  assert.equal(held.asked.length, 1, 'a store that does not answer is not asked again');
  held.asked[0]?.answer(1);
  await until(
    () => held.asked.length,
    (count) => count === 2,
  );
  assert.deepEqual(held.asked[1]?.spans, spans.slice(1, 11).map(keptSpanOf));
  held.asked[1].answer(4);
  await until(
    () => held.sums.get('trace_spans_kept'),
    (count) => count === 5,
  );
  assert.equal(held.sums.get('trace_spans_dropped refused'), 6, 'what the store refuses is counted');
  await store.shutdown();
});

test('a shutdown ends although the store hangs, and what is not written by then is counted', async () => {
  const held = heldKeeper();
  const store = createTraceStore({ ...held, everyMs: 3_600_000, flushLimitMs: 20 });
  const spans = await endedSpans(60);
  spans.forEach((span) => store.onEnd(span));
  await store.shutdown();
  assert.equal(held.asked.length, 1);
  assert.equal(held.sums.get('trace_spans_dropped unwritten'), 60 - (held.asked[0]?.spans.length ?? 0));
  spans.forEach((span) => store.onEnd(span));
  assert.equal(held.sums.get('trace_spans_dropped full'), 60, 'what comes later is counted, too');
});

test('a store that failed is left alone for a while, though spans wait', async () => {
  const held = heldKeeper();
  const store = createTraceStore({ ...held, everyMs: 1, leaveAloneMs: 3_600_000 });
  const [first, second] = await endedSpans(2);
  assert.ok(first && second);
  store.onEnd(first);
  await until(
    () => held.asked.length,
    (count) => count === 1,
  );
  held.asked[0]?.answer(new Error('away'));
  await until(
    () => held.sums.get('trace_spans_dropped unwritten'),
    (count) => count === 1,
  );
  store.onEnd(second);
  // Timers of one length run in their order: twenty turns of the store's own have passed when this many of these have.
  for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setTimeout(resolve, 1));
  assert.equal(held.asked.length, 1);
  const shut = store.shutdown();
  await until(
    () => held.asked.length,
    (count) => count === 2,
  );
  held.asked[1]?.answer(1);
  await shut;
  assert.equal(held.sums.get('trace_spans_kept'), 1);
});
