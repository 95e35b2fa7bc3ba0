import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SpanStatusCode } from '@opentelemetry/api';
import { startTelemetry } from '../../../infra/process/telemetry.js';
import { testOtlpReceiver } from '../../otlp-receiver.js';

const receiver = await testOtlpReceiver();
const { tracer, shutdown } = await startTelemetry({
  service: 'sampan-test',
  instance: 'one',
  host: '127.0.0.1',
  metricsPort: 0,
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER: 'always_on' },
});
after(shutdown);

const protobuf = { 'content-type': 'application/x-protobuf' };
const post = (path: string, body: Uint8Array<ArrayBuffer>, headers: Record<string, string> = protobuf) =>
  fetch(receiver.url + path, { method: 'POST', body, headers }).then((response) => response.status);

test("what the SDK's own exporter sends is read in full: every kind of attribute, events, links, status", async () => {
  const attributes = {
    text: 'sampan 舢舨',
    whole: 42,
    negative: -7,
    fraction: 0.1,
    large: 2 ** 40,
    yes: true,
    no: false,
    list: ['a', 'b'],
    numbers: [1, 2.5],
  };
  const other = { traceId: '1'.repeat(32), spanId: '2'.repeat(16), traceFlags: 1 };
  const span = tracer.startSpan('everything', { attributes, links: [{ context: other }], startTime: 1_000_000.25 });
  span.addEvent('happened', { how: 'twice' });
  span.setStatus({ code: SpanStatusCode.ERROR, message: 'so it goes' });
  span.end();
  const { spanId, traceId } = span.spanContext();
  const spans = await receiver.waitFor((all) => all.some((received) => received.spanId === spanId), 10_000);
  const received = spans.find((one) => one.spanId === spanId);
  assert.deepEqual(received?.attributes, attributes);
  assert.equal(received.traceId, traceId);
  assert.equal(received.parentSpanId, '');
  assert.deepEqual(received.links, [{ traceId: other.traceId, spanId: other.spanId }]);
  assert.deepEqual(received.events, [{ name: 'happened', attributes: { how: 'twice' } }]);
  assert.deepEqual(received.status, { code: 'error', message: 'so it goes' });
});

test('bytes that are no export request are refused, and so are other paths and forms', async () => {
  const before = receiver.spans().length;
  assert.equal(await post('/v1/traces', Uint8Array.of(0x0a, 0x7f, 1)), 400);
  assert.equal(await post('/v1/traces', new Uint8Array(11).fill(0xff)), 400);
  assert.equal(await post('/v1/traces', Uint8Array.of(0x7b), { 'content-type': 'application/json' }), 415);
  assert.equal(await post('/v1/metrics', new Uint8Array()), 404);
  assert.equal(await post('/v1/traces', new Uint8Array()), 200);
  assert.equal(receiver.spans().length, before);
});

test('waiting in vain ends with a list of what did arrive', async () => {
  await assert.rejects(
    receiver.waitFor(() => false, 20),
    /after 20 ms these spans had arrived: .*sampan-test\/everything/,
  );
});
