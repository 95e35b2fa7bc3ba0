import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { formatTraceparent } from '../../../contracts/traceparent.js';
import { startRequestTrace } from '../../../edge/telemetry.js';
import { startTelemetry, type Telemetry } from '../../../infra/process/telemetry.js';
import { scrape } from '../../exposition.js';
import { testOtlpReceiver } from '../../otlp-receiver.js';

const receiver = await testOtlpReceiver();
const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const parentId = '00f067aa0ba902b7';
const tenSeconds = 10_000;
const started: Telemetry[] = [];
after(() => Promise.all(started.map((telemetry) => telemetry.shutdown())));

type Environment = Record<string, string>;
const exporting: Environment = { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url };

async function start(env: Environment, metricsPort = 0): Promise<Telemetry> {
  const telemetry = await startTelemetry({
    service: 'sampan-test',
    instance: 'one',
    host: '127.0.0.1',
    metricsPort,
    env,
  });
  started.push(telemetry);
  return telemetry;
}

function request(telemetry: Telemetry, incoming?: string) {
  return startRequestTrace(telemetry.tracer, incoming, 'POST /predict', { 'http.route': '/predict' });
}

test('a sampled request is exported as one trace, its children below the server span', async () => {
  const telemetry = await start({ ...exporting, OTEL_TRACES_SAMPLER: 'always_on' });
  const trace = request(telemetry);
  trace.endChild(trace.child('digest'));
  trace.endChild(trace.child('wait'), new Error('nobody came'));
  trace.span.end();
  const spans = await receiver.waitFor(
    (all) => all.filter((span) => span.traceId === trace.traceId).length === 3,
    tenSeconds,
  );
  const own = spans.filter((span) => span.traceId === trace.traceId);
  const server = own.find((span) => span.kind === 'server');
  assert.equal(server?.name, 'POST /predict');
  assert.equal(server.parentSpanId, '');
  assert.equal(server.service, 'sampan-test');
  assert.deepEqual(server.attributes, { 'http.route': '/predict' });
  assert.ok(server.endNs >= server.startNs && server.startNs > 0n);
  for (const name of ['digest', 'wait']) {
    assert.equal(own.find((span) => span.name === name)?.parentSpanId, server.spanId, name);
  }
  assert.equal(own.find((span) => span.name === 'wait')?.events[0]?.attributes['exception.message'], 'nobody came');
  assert.match(trace.traceparent(), new RegExp(`^00-${trace.traceId}-[0-9a-f]{16}-01$`));
});

test('an unsampled request exports nothing, but its traceparent travels with flag 00', async () => {
  const telemetry = await start({ ...exporting, OTEL_TRACES_SAMPLER: 'always_off' });
  const trace = request(telemetry);
  const child = trace.child('enqueue');
  assert.match(trace.traceparent(child), /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-00$/);
  trace.endChild(child);
  trace.span.end();
  await telemetry.shutdown();
  assert.deepEqual(
    receiver.spans().filter((span) => span.traceId === trace.traceId),
    [],
  );
});

test("the caller's decision is followed, whatever our own ratio is", async () => {
  const none = await start({ ...exporting, OTEL_TRACES_SAMPLER_ARG: '0' });
  const all = await start({ ...exporting, OTEL_TRACES_SAMPLER_ARG: '1' });
  const followed = request(none, `00-${traceId}-${parentId}-01`);
  const left = request(all, `00-${traceId}-${parentId}-00`);
  assert.equal(followed.sampled, true);
  assert.equal(left.sampled, false);
  assert.equal(followed.traceId, traceId);
  assert.match(left.traceparent(), new RegExp(`^00-${traceId}-(?!${parentId})[0-9a-f]{16}-00$`));
  followed.span.end();
  await receiver.waitFor(
    (spans) => spans.some((span) => span.traceId === traceId && span.parentSpanId === parentId),
    tenSeconds,
  );
  assert.equal(request(none).sampled, false);
  assert.equal(request(all).sampled, true);
});

test('one new trace in a hundred is recorded where nothing else is asked for', async () => {
  const telemetry = await start(exporting);
  let sampled = 0;
  for (let i = 0; i < 20_000; i += 1) sampled += telemetry.tracer.startSpan('root').isRecording() ? 1 : 0;
  // 200 expected, standard deviation 14: a wrong ratio falls outside, chance does not.
  assert.ok(sampled > 100 && sampled < 300, `${sampled} of 20000`);
});

test('without an endpoint nothing is posted, and what the caller sent travels on as it came', async () => {
  const before = receiver.paths().length;
  const telemetry = await start({ OTEL_TRACES_SAMPLER: 'always_on' });
  assert.equal(telemetry.exportsTraces, false);
  const incoming = `00-${traceId}-${parentId}-01`;
  assert.equal(request(telemetry, incoming).traceparent(), incoming);
  const fresh = [request(telemetry), request(telemetry)];
  for (const trace of fresh) {
    assert.match(trace.traceparent(), /^00-(?!0{32})[0-9a-f]{32}-(?!0{16})[0-9a-f]{16}-00$/);
    assert.equal(trace.sampled, false);
    trace.span.end();
  }
  assert.notEqual(fresh[0]?.traceId, fresh[1]?.traceId);
  await telemetry.shutdown();
  assert.equal(receiver.paths().length, before);
});

test('OTEL_TRACES_EXPORTER=none and an empty endpoint export nothing', async () => {
  for (const env of [{ ...exporting, OTEL_TRACES_EXPORTER: 'none' }, { OTEL_EXPORTER_OTLP_ENDPOINT: '' }]) {
    assert.equal((await start({ ...env, OTEL_TRACES_SAMPLER: 'always_on' })).exportsTraces, false);
  }
});

test('shutdown sends the spans that still wait, and nothing but traces was ever posted', async () => {
  const delay = process.env['OTEL_BSP_SCHEDULE_DELAY'];
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = '3600000';
  const telemetry = await start({ ...exporting, OTEL_TRACES_SAMPLER: 'always_on' });
  process.env['OTEL_BSP_SCHEDULE_DELAY'] = delay;
  telemetry.meter.createCounter('something').add(1);
  const span = telemetry.tracer.startSpan('last words');
  span.end();
  await telemetry.shutdown();
  assert.ok(receiver.spans().some((received) => received.spanId === span.spanContext().spanId));
  assert.deepEqual([...new Set(receiver.paths())], ['/v1/traces']);
});

test('a root that links a sampled span is recorded under a ratio of 0, and one that links an unsampled span is not', async () => {
  const telemetry = await start({ ...exporting, OTEL_TRACES_SAMPLER_ARG: '0' });
  const linking = (traceFlags: number) =>
    telemetry.tracer.startSpan('batch', {
      root: true,
      links: [{ context: { traceId, spanId: parentId, traceFlags } }],
    });
  assert.equal(linking(1).isRecording(), true);
  assert.equal(linking(0).isRecording(), false);
  const unsampledParent = request(telemetry, `00-${traceId}-${parentId}-00`);
  assert.equal(formatTraceparent(unsampledParent.span.spanContext()).endsWith('-00'), true);
});

test('two parts in one process keep their metrics apart, and both can be scraped', async () => {
  const [one, two] = [await start({}), await start({})];
  one.meter.createCounter('boats').add(3);
  two.meter.createCounter('boats').add(5);
  assert.ok(one.metricsUrl !== undefined && two.metricsUrl !== undefined);
  assert.equal((await scrape(one.metricsUrl)).find('boats_total')[0]?.value, 3);
  assert.equal((await scrape(two.metricsUrl)).find('boats_total')[0]?.value, 5);
  assert.equal((await fetch(one.metricsUrl.replace('/metrics', '/'))).status, 404);
});

test('OTEL_SDK_DISABLED serves and exports nothing, and requests still have trace ids', async () => {
  const telemetry = await start({ ...exporting, OTEL_SDK_DISABLED: 'true', OTEL_TRACES_SAMPLER: 'always_on' });
  assert.equal(telemetry.metricsUrl, undefined);
  assert.equal(telemetry.exportsTraces, false);
  telemetry.meter.createCounter('boats').add(1);
  assert.match(request(telemetry).traceId, /^(?!0{32})[0-9a-f]{32}$/);
});

test('a metrics port in use, an unknown sampler and a ratio out of range are told in words', async () => {
  const { metricsUrl = '' } = await start({});
  const port = Number(new URL(metricsUrl).port);
  await assert.rejects(start({}, port), {
    message: new RegExp(`^metrics server: port ${port} on 127.0.0.1 is in use`),
  });
  await assert.rejects(start({ ...exporting, OTEL_TRACES_SAMPLER: 'sometimes' }), {
    message: /^OTEL_TRACES_SAMPLER "sometimes" is not known; known are always_on/,
  });
  await assert.rejects(start({ ...exporting, OTEL_TRACES_SAMPLER_ARG: '5' }), {
    message: 'OTEL_TRACES_SAMPLER_ARG "5" is not a ratio from 0 to 1',
  });
  // Who exports nothing has no use for a sampler, and may share an environment with who does.
  await start({ OTEL_TRACES_SAMPLER: 'sometimes' });
});
