import type { KeptSpan } from '../contracts/kept-span.js';

/** Trace and span ids that tests tell apart by a number. */
export const traceIdOf = (number: number) => number.toString(16).padStart(32, '0');
export const spanIdOf = (number: number) => number.toString(16).padStart(16, '0');

export interface SpanSketch {
  readonly trace: number;
  readonly span: number;
  readonly parent?: number;
  readonly startMs?: number;
  readonly ms?: number;
  readonly more?: Partial<KeptSpan>;
}

/** A span of the backend; see `requestSpan` for the edge's. */
export function keptSpan({ trace, span, parent, startMs = 1000, ms = 1, more = {} }: SpanSketch): KeptSpan {
  return {
    ...{ traceId: traceIdOf(trace), spanId: spanIdOf(span) },
    parentSpanId: parent === undefined ? '' : spanIdOf(parent),
    ...{ name: 'process', kind: 'consumer', service: 'sampan-backend', instance: 'one' },
    ...{ startNs: String(BigInt(startMs) * 1_000_000n), endNs: String(BigInt(startMs + ms) * 1_000_000n) },
    ...{ attributes: {}, links: [], status: { code: 'unset', message: '' } },
    ...more,
  };
}

/** The span of a whole request, which has number 1 in its trace. */
export function requestSpan(sketch: Omit<SpanSketch, 'span'>, failed = false): KeptSpan {
  const { more = {} } = sketch;
  const status = { code: failed ? ('error' as const) : ('unset' as const), message: '' };
  return keptSpan({
    ...{ ...sketch, span: 1 },
    more: { name: 'POST', kind: 'server', service: 'sampan-edge', status, ...more },
  });
}
