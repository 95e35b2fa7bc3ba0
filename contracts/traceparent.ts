import { isSpanContextValid, TraceFlags, type SpanContext } from '@opentelemetry/api';

const pattern = /^([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Writes a span context as the W3C header `traceparent`; the sampled flag travels also when it is unset. */
export function formatTraceparent(context: SpanContext): string {
  return `00-${context.traceId}-${context.spanId}-0${(context.traceFlags & TraceFlags.SAMPLED).toString(16)}`;
}

/** Reads a `traceparent`; undefined where it is malformed, all zeros or of the forbidden version ff. */
export function parseTraceparent(header: string): SpanContext | undefined {
  const match = pattern.exec(header);
  if (!match || match[1] === 'ff' || (match[1] === '00' && match[5] !== undefined)) return undefined;
  const context: SpanContext = {
    traceId: match[2] ?? '',
    spanId: match[3] ?? '',
    traceFlags: parseInt(match[4] ?? '0', 16) & TraceFlags.SAMPLED,
    isRemote: true,
  };
  return isSpanContextValid(context) ? context : undefined;
}
