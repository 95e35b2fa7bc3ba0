import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import {
  endSpan,
  startBatchSpan,
  startTaskTrace,
  unsampledTask,
  type TracedDelivery,
  type TaskTrace,
} from '../../backend/telemetry.js';
import { Failure } from '../../contracts/failure.js';
import type { ReceivedSpan } from '../../infra/trace/otlp-spans.js';
import { startTelemetry } from '../../infra/process/telemetry.js';
import { testOtlpReceiver } from '../otlp-receiver.js';

const receiver = await testOtlpReceiver();
// The default of production: 1 % of new traces, and what callers decided.
const { tracer, shutdown } = await startTelemetry({
  service: 'sampan-backend',
  instance: 'one',
  host: '127.0.0.1',
  metricsPort: 0,
  env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_TRACES_SAMPLER_ARG: '0' },
});
after(shutdown);

let counted = 0;
const about = { model: 'coco', version: '1', device: 'cpu', size: 3, closed: 'full' };

/** A task of a trace of its own, as an edge would have written it. */
function task(flags: '00' | '01', id = `coco.0.${(counted += 1)}`): TaskTrace {
  return startTaskTrace(tracer, delivery(flags, id), 'hk-1');
}

function delivery(flags: string, taskId: string): TracedDelivery {
  const number = String((counted += 1)).padStart(16, '0');
  return {
    traceparent: `00-${number}${number}-${number}-${flags}`,
    stream: 'sampan:{coco:0}:tasks:normal',
    taskId,
    bytes: 20_000,
    queueMs: 3.5,
    model: { manifest: { name: 'coco', version: '1' } },
  };
}

/** Runs members through a batch as a consumer does. */
function runBatch(members: readonly TaskTrace[], error?: unknown) {
  for (const member of members) endSpan(member.child('decode'));
  const batch = startBatchSpan(tracer, members, about);
  const infers = members.map((member) => member.child('infer', undefined, batch));
  for (const infer of infers) endSpan(infer, error);
  endSpan(batch, error);
  for (const member of members) {
    endSpan(member.child('settle'));
    member.end(error);
  }
  return batch;
}

async function exported(count: number, traceIds: readonly string[]): Promise<ReceivedSpan[]> {
  const ours = (spans: readonly ReceivedSpan[]) => spans.filter((span) => traceIds.includes(span.traceId));
  return ours(await receiver.waitFor((spans) => ours(spans).length >= count, 10_000));
}

test("a sampled task's spans continue the edge's trace, with queue time and messaging attributes", async () => {
  const { traceparent, ...rest } = delivery('01', 'coco.0.first');
  const member = startTaskTrace(tracer, { traceparent, ...rest }, 'hk-1');
  runBatch([member]);
  const [, traceId = '', producer = ''] = traceparent.split('-');
  const spans = await exported(4, [traceId]);
  const process = spans.find((span) => span.name === 'process');
  assert.equal(process?.parentSpanId, producer);
  assert.equal(process.kind, 'consumer');
  assert.equal(process.service, 'sampan-backend');
  assert.deepEqual(process.attributes, {
    'messaging.system': 'redis',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': 'sampan:{coco:0}:tasks:normal',
    'messaging.consumer.group.name': 'consumers',
    'messaging.client.id': 'hk-1',
    'messaging.message.id': 'coco.0.first',
    'messaging.message.body.size': 20_000,
    'sampan.model': 'coco',
    'sampan.model_version': '1',
    'sampan.queue_ms': 3.5,
  });
  for (const name of ['decode', 'infer', 'settle']) {
    assert.equal(spans.find((span) => span.name === name)?.parentSpanId, process.spanId, name);
  }
});

test('a batch is a trace of its own that links every sampled member, and every member links it back', async () => {
  const members = [task('01'), task('00'), task('01')];
  const batch = runBatch(members).spanContext();
  const traceIds = members.filter((member) => member.sampled).map((member) => member.span.spanContext().traceId);
  const spans = await exported(9, [...traceIds, batch.traceId]);
  const received = spans.filter((span) => span.spanId === batch.spanId);
  assert.equal(received.length, 1);
  assert.equal(received[0]?.parentSpanId, '');
  assert.ok(!traceIds.includes(batch.traceId));
  const processes = spans.filter((span) => span.name === 'process');
  assert.deepEqual(
    received[0].links,
    processes.map(({ traceId, spanId }) => ({ traceId, spanId })),
  );
  assert.equal(received[0].attributes['messaging.batch.message_count'], 3);
  assert.equal(received[0].attributes['sampan.batch.closed'], 'full');
  const infers = spans.filter((span) => span.name === 'infer');
  assert.equal(infers.length, 2);
  for (const infer of infers) assert.deepEqual(infer.links, [{ traceId: batch.traceId, spanId: batch.spanId }]);
});

test('a batch of 300 sampled members links them all', async () => {
  const members = Array.from({ length: 300 }, () => task('01'));
  const batch = startBatchSpan(tracer, members, about);
  endSpan(batch);
  const [received] = await exported(1, [batch.spanContext().traceId]);
  assert.equal(received?.links.length, 300);
});

test('an unsampled, unreadable or missing traceparent makes no spans at all, and a batch of such tasks neither', () => {
  const members = ['', 'nonsense', '00-00000000000000000000000000000000-0000000000000000-01'].map((traceparent) =>
    startTaskTrace(tracer, { ...delivery('00', 'coco.0.x'), traceparent }, 'hk-1'),
  );
  for (const member of [...members, task('00')]) {
    assert.equal(member, unsampledTask);
    assert.equal(member.child('decode'), member.child('infer'));
  }
  assert.equal(runBatch(members).isRecording(), false);
});

test('spans can be written afterwards, with the times at which things happened', async () => {
  const from = Date.UTC(2026, 10, 5, 12, 0, 0);
  const { traceparent, ...rest } = delivery('01', 'coco.0.later');
  const member = startTaskTrace(tracer, { traceparent, ...rest }, 'hk-1', from);
  endSpan(member.child('decode', from + 1.5), undefined, from + 4);
  member.end(undefined, from + 10);
  const spans = await exported(2, [traceparent.split('-')[1] ?? '']);
  const decode = spans.find((span) => span.name === 'decode');
  assert.equal(decode?.startNs, BigInt(from) * 1_000_000n + 1_500_000n);
  assert.equal(decode.endNs, BigInt(from + 4) * 1_000_000n);
  assert.equal(spans.find((span) => span.name === 'process')?.endNs, BigInt(from + 10) * 1_000_000n);
});

test('a failure is told by its code, an unforeseen error brings its stack', async () => {
  const coded = task('01');
  const unforeseen = task('01');
  coded.end(new Failure('image_unreadable', 'it ends too early'));
  unforeseen.end(new TypeError('x is not a function'));
  const ids = [coded, unforeseen].map((member) => member.span.spanContext());
  const spans = await exported(
    2,
    ids.map((id) => id.traceId),
  );
  const [first, second] = ids.map((id) => spans.find((span) => span.spanId === id.spanId));
  assert.equal(first?.status.code, 'error');
  assert.equal(first.attributes['error.type'], 'image_unreadable');
  assert.deepEqual(first.events, []);
  assert.equal(second?.attributes['error.type'], 'TypeError');
  assert.equal(second.events[0]?.attributes['exception.message'], 'x is not a function');
});
