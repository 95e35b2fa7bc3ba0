import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ROOT_CONTEXT, SpanKind, trace, TraceFlags, type Span, type Tracer } from '@opentelemetry/api';
import { tracing } from '@opentelemetry/sdk-node';
import { carryingTracer } from '../../../infra/process/carrying-tracer.js';
import { sampledFirst } from '../../../infra/process/sampled-first.js';
import { samplerFrom } from '../../../infra/process/sampling.js';

/** Stands for the SDK: notes what reaches it, and makes a root span in the trace that its generator gives. */
function recorder(env: Record<string, string>) {
  const first = sampledFirst(samplerFrom(env));
  const reached: string[] = [];
  const sdk: Tracer = {
    ...carryingTracer,
    startSpan: (name, options, context = ROOT_CONTEXT): Span => {
      reached.push(name);
      const parent = options?.root === true ? undefined : trace.getSpanContext(context);
      const traceId = parent?.traceId ?? first.idGenerator.generateTraceId();
      return trace.wrapSpanContext({
        ...{ traceId, spanId: first.idGenerator.generateSpanId(), traceFlags: TraceFlags.SAMPLED },
      });
    },
  };
  return { tracer: first.wrap(sdk), reached };
}

const ratio = (share: string) => ({ OTEL_TRACES_SAMPLER: 'parentbased_traceidratio', OTEL_TRACES_SAMPLER_ARG: share });
const remote = (traceFlags: TraceFlags) => ({
  ...{ traceId: '4bf92f3577b34da6a3ce929d0e0e4736', spanId: '00f067aa0ba902b7', traceFlags, isRemote: true },
});

test('what is not sampled never reaches the SDK, and still has a trace of its own with the flag unset', () => {
  const { tracer, reached } = recorder(ratio('0'));
  const contexts = Array.from({ length: 100 }, () => tracer.startSpan('request').spanContext());
  assert.deepEqual(reached, []);
  assert.equal(new Set(contexts.map(({ traceId }) => traceId)).size, 100);
  for (const { traceId, spanId, traceFlags } of contexts) {
    assert.match(`${traceId} ${spanId}`, /^[0-9a-f]{32} [0-9a-f]{16}$/);
    assert.equal(traceFlags, TraceFlags.NONE);
  }
});

test('what is sampled is recorded in the very trace that the sampler was asked about', () => {
  const { tracer, reached } = recorder(ratio('0.5'));
  const sampler = samplerFrom(ratio('0.5'));
  for (let i = 0; i < 200; i++) {
    const { traceId, traceFlags } = tracer.startSpan('request').spanContext();
    const { decision } = sampler.shouldSample(ROOT_CONTEXT, traceId, 'request', SpanKind.INTERNAL, {}, []);
    const sampled = Boolean(traceFlags & TraceFlags.SAMPLED);
    assert.equal(decision === tracing.SamplingDecision.RECORD_AND_SAMPLED, sampled);
  }
  assert.ok(reached.length > 40 && reached.length < 160, `${String(reached.length)} of 200`);
});

test("a caller's decision is kept, in the caller's trace; a root of its own heeds nobody", () => {
  const { tracer, reached } = recorder(ratio('0'));
  const started = (flags: TraceFlags, root = false) =>
    tracer.startSpan('request', { root }, trace.setSpanContext(ROOT_CONTEXT, remote(flags))).spanContext();
  const [sampled, not, own] = [
    started(TraceFlags.SAMPLED),
    started(TraceFlags.NONE),
    started(TraceFlags.SAMPLED, true),
  ];
  assert.deepEqual([sampled.traceId, sampled.traceFlags], [remote(TraceFlags.NONE).traceId, TraceFlags.SAMPLED]);
  assert.deepEqual([not.traceId, not.traceFlags], [remote(TraceFlags.NONE).traceId, TraceFlags.NONE]);
  assert.notEqual(not.spanId, remote(TraceFlags.NONE).spanId);
  assert.deepEqual([own.traceId === remote(TraceFlags.NONE).traceId, own.traceFlags], [false, TraceFlags.NONE]);
  assert.deepEqual(reached, ['request']);
});
