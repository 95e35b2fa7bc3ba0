import { isSpanContextValid, ROOT_CONTEXT, trace, TraceFlags, type SpanContext, type Tracer } from '@opentelemetry/api';
import { newSpanId, newTraceId } from './trace-ids.js';

/**
 * A tracer for processes that export nothing: it records nothing, but requests still have trace ids for logs and error
 * bodies, and a caller's context travels on as it came, sampled flag included, for others who do record.
 */
export const carryingTracer: Tracer = {
  startSpan: (_name, options, context = ROOT_CONTEXT) => {
    const parent = options?.root === true ? undefined : trace.getSpanContext(context);
    return trace.wrapSpanContext(parent && isSpanContextValid(parent) ? parent : newContext());
  },
  startActiveSpan: (): never => {
    throw new Error('spans are handed on explicitly here; there is no active context');
  },
};

function newContext(): SpanContext {
  return { traceId: newTraceId(), spanId: newSpanId(), traceFlags: TraceFlags.NONE };
}
