import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { tracing } from '@opentelemetry/sdk-node';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { createEdgeMetrics } from '../../edge/metrics.js';
import { startTelemetry } from '../../infra/process/telemetry.js';
import { testRedis } from '../redis.js';
import { bodyOf, edgeUnderTest, eventually, serveModels, toyManifest } from './edge-under-test.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
client.disconnect();
const telemetry = await startTelemetry({
  ...{ service: 'test-edge', instance: 'one', host: '127.0.0.1', metricsPort: 0, env: {} },
});
after(() => telemetry.shutdown());
let tenants = 0;
const edge = await edgeUnderTest(stream.url, {
  metrics: createEdgeMetrics(telemetry.meter),
  authenticate: () => ({ tenant: `tenant-${tenants++}`, tier: 'free', permissions: ['predict'], scope: 'shared' }),
});
const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .jpeg()
  .toBuffer();

const predict = (url: string, model: string, headers: Record<string, string> = {}) =>
  fetch(`${url}/v1/models/${model}/predict`, { method: 'POST', body: bodyOf(image), headers });

async function series(): Promise<string[]> {
  const text = await (await fetch(telemetry.metricsUrl ?? '')).text();
  return text.split('\n').filter((line) => line !== '' && !line.startsWith('#'));
}

test('a thousand tenants, unknown models and unknown paths add no series', { timeout: 60_000 }, async () => {
  const some = async (from: number, count: number) => {
    for (let index = from; index < from + count; index += 50) {
      const batch = Array.from({ length: 50 }, (_, offset) => index + offset);
      await Promise.all(
        batch.flatMap((one) => [
          predict(edge.url, 'toy'),
          predict(edge.url, `none-${one}`),
          fetch(`${edge.url}/none/${one}`),
          fetch(`${edge.url}/v1/models/none-${one}`),
        ]),
      );
    }
  };
  await some(0, 50);
  const before = (await series()).map((line) => line.replace(/ \S+$/, ''));
  await some(50, 1000);
  assert.deepEqual(
    (await series()).map((line) => line.replace(/ \S+$/, '')),
    before,
  );
  assert.ok(tenants > 1000);
  assert.ok(
    before.some((line) =>
      line.startsWith('api_latency_seconds_count{endpoint="/v1/models/:model/predict",status="200"'),
    ),
  );
  assert.ok(edge.records.every(({ model }) => model === undefined || model === 'toy'));
});

test('the access log tells who asked what, and what became of it', async () => {
  await predict(edge.url, 'toy', { 'x-request-id': 'logged' });
  await eventually(() => edge.records.some(({ requestId }) => requestId === 'logged'), 'it is logged');
  const record = edge.records.find(({ requestId }) => requestId === 'logged');
  assert.ok(record);
  const { traceId, tenant, ms, ...rest } = record;
  assert.match(traceId, /^[0-9a-f]{32}$/);
  assert.match(tenant ?? '', /^tenant-/);
  assert.ok(ms > 0);
  assert.deepEqual(rest, {
    ...{ requestId: 'logged', clientAddress: '127.0.0.1', method: 'POST', endpoint: '/v1/models/:model/predict' },
    ...{ model: 'toy', bytes: image.length, pixels: 600, cache: 'miss', status: 200, code: undefined },
  });
});

const exporter = new tracing.InMemorySpanExporter();
const provider = new tracing.BasicTracerProvider({
  sampler: new tracing.ParentBasedSampler({ root: new tracing.AlwaysOffSampler() }),
  spanProcessors: [new tracing.SimpleSpanProcessor(exporter)],
});
const traced = await edgeUnderTest(stream.url, { tracer: provider.getTracer('test') });
const remote = { traceId: '1'.repeat(32), spanId: '2'.repeat(16) };
const sampled = `00-${remote.traceId}-${remote.spanId}-01`;

test('a sampled request continues the trace of its caller, by the conventions for HTTP servers', async () => {
  exporter.reset();
  const answer = await predict(traced.url, 'toy', {
    traceparent: sampled,
    'user-agent': 'tester',
    'x-request-id': 'mine',
  });
  await answer.text();
  const spans = exporter.getFinishedSpans();
  const server = spans.find(({ kind }) => kind === SpanKind.SERVER);
  assert.equal(server?.name, 'POST /v1/models/:model/predict');
  assert.equal(server.spanContext().traceId, remote.traceId);
  assert.equal(server.parentSpanContext?.spanId, remote.spanId);
  assert.equal(answer.headers.get('traceresponse'), `00-${remote.traceId}-${server.spanContext().spanId}-01`);
  assert.deepEqual(server.attributes, {
    ...{ 'http.request.method': 'POST', 'http.route': '/v1/models/:model/predict', 'http.response.status_code': 200 },
    ...{ 'url.path': '/v1/models/toy/predict', 'url.scheme': 'http', 'client.address': '127.0.0.1' },
    ...{ 'user_agent.original': 'tester', 'http.request.body.size': image.length },
    'sampan.request_id': 'mine',
  });
  const children = spans.filter((span) => span !== server);
  assert.deepEqual(
    children.map(({ name }) => name),
    ['digest', 'cache lookup'],
  );
  for (const child of children) assert.equal(child.parentSpanContext?.spanId, server.spanContext().spanId);
});

test('a failure stands in the span by its code; only the server’s own is an error', async () => {
  exporter.reset();
  await predict(traced.url, 'none', { traceparent: sampled });
  const broken = await edgeUnderTest(stream.url, {
    tracer: provider.getTracer('test'),
    cross: () => Promise.reject(new Error('boom')),
  });
  await predict(broken.url, 'toy', { traceparent: sampled });
  const servers = exporter.getFinishedSpans().filter(({ kind }) => kind === SpanKind.SERVER);
  assert.deepEqual(
    servers.map(({ attributes, status }) => [attributes['error.type'], status.code]),
    [
      ['model_not_found', SpanStatusCode.UNSET],
      ['internal', SpanStatusCode.ERROR],
    ],
  );
});

test('an unsampled request leaves no span, but its trace id still stands in answer and log', async () => {
  exporter.reset();
  const answer = await predict(traced.url, 'toy', { traceparent: sampled.replace(/01$/, '00'), 'x-request-id': 'un' });
  assert.equal(exporter.getFinishedSpans().length, 0);
  assert.match(answer.headers.get('traceresponse') ?? '', new RegExp(`^00-${remote.traceId}-[0-9a-f]{16}-00$`));
  assert.equal(traced.records.find(({ requestId }) => requestId === 'un')?.traceId, remote.traceId);
});
