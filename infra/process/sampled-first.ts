import { isSpanContextValid, ROOT_CONTEXT, SpanKind, trace, TraceFlags, type Tracer } from '@opentelemetry/api';
import { tracing, type NodeSDKConfiguration } from '@opentelemetry/sdk-node';
import { newSpanId, newTraceId } from './trace-ids.js';

type Sampler = NodeSDKConfiguration['sampler'];
type IdGenerator = NodeSDKConfiguration['idGenerator'];

/** What a tracer that samples first and the SDK behind it agree on. */
export interface SampledFirst {
  /** Of the SDK: it records whatever reaches it, in the trace that was decided upon. */
  readonly sampler: Sampler;
  readonly idGenerator: IdGenerator;
  wrap(recording: Tracer): Tracer;
}

/**
 * Asks the sampler before the SDK is asked for a span: for one that is not sampled the SDK would check attributes, count
 * and make objects, which at 1 % is nearly all that tracing costs. Such a span is a context alone.
 */
export function sampledFirst(sampler: Sampler): SampledFirst {
  let decided: string | undefined;
  return {
    sampler: new tracing.AlwaysOnSampler(),
    idGenerator: { generateTraceId: () => decided ?? newTraceId(), generateSpanId: newSpanId },
    wrap: (recording) => ({
      startSpan: (name, options = {}, context = ROOT_CONTEXT) => {
        const parent = options.root === true ? undefined : trace.getSpanContext(context);
        const traceId = parent && isSpanContextValid(parent) ? parent.traceId : newTraceId();
        const { kind = SpanKind.INTERNAL, attributes = {}, links = [] } = options;
        const sampledFrom = options.root === true ? ROOT_CONTEXT : context;
        const { decision } = sampler.shouldSample(sampledFrom, traceId, name, kind, attributes, links);
        if (decision !== tracing.SamplingDecision.RECORD_AND_SAMPLED) {
          return trace.wrapSpanContext({ traceId, spanId: newSpanId(), traceFlags: TraceFlags.NONE });
        }
        decided = traceId;
        return recording.startSpan(name, options, context);
      },
      startActiveSpan: (): never => {
        throw new Error('spans are handed on explicitly here; there is no active context');
      },
    }),
  };
}
