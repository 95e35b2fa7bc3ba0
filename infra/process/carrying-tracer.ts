import { randomFillSync } from 'node:crypto';
import { isSpanContextValid, ROOT_CONTEXT, trace, TraceFlags, type SpanContext, type Tracer } from '@opentelemetry/api';

const idBytes = 24;
const pool = Buffer.alloc(idBytes * 256);
let used = pool.length;

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

/** Ids come from one pool of random bytes: a call for each costs several times as much. */
function newContext(): SpanContext {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const traceId = pool.toString('hex', used, used + 16);
  const spanId = pool.toString('hex', used + 16, used + idBytes);
  used += idBytes;
  return { traceId, spanId, traceFlags: TraceFlags.NONE };
}
