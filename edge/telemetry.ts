import {
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Attributes,
  type Context,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { formatTraceparent, parseTraceparent } from '../contracts/traceparent.js';

/** The trace of one request. Where it is not sampled, children cost nothing: every child is the request's own span. */
export interface RequestTrace {
  readonly span: Span;
  readonly traceId: string;
  readonly sampled: boolean;
  /** `traceparent` of a span of this trace, sampled or not. */
  traceparent(of?: Span): string;
  /** Starts a child; whoever starts it calls `endChild`. */
  child(name: string, kind?: SpanKind, attributes?: Attributes): Span;
  /** Links a child to a span of another trace. */
  link(child: Span, traceparent: string): void;
  /** Ends a child; does nothing where the trace is not sampled. */
  endChild(child: Span, error?: unknown): void;
}

/** Continues the caller's trace, or starts one, with the server span of a request. */
export function startRequestTrace(
  tracer: Tracer,
  incoming: string | undefined,
  name: string,
  attributes: Attributes,
): RequestTrace {
  const remote = incoming === undefined ? undefined : parseTraceparent(incoming);
  const parent: Context = remote ? trace.setSpanContext(ROOT_CONTEXT, remote) : ROOT_CONTEXT;
  const span = tracer.startSpan(name, { kind: SpanKind.SERVER, attributes }, parent);
  const sampled = span.isRecording();
  const context = sampled ? trace.setSpan(ROOT_CONTEXT, span) : ROOT_CONTEXT;
  return {
    span,
    sampled,
    traceId: span.spanContext().traceId,
    traceparent: (of = span) => formatTraceparent(of.spanContext()),
    child: (childName, kind = SpanKind.INTERNAL, childAttributes = {}) =>
      sampled ? tracer.startSpan(childName, { kind, attributes: childAttributes }, context) : span,
    link: (child, traceparent) => {
      const context = sampled && child !== span ? parseTraceparent(traceparent) : undefined;
      if (context) child.addLink({ context });
    },
    endChild: (child, error) => {
      if (!sampled || child === span) return;
      if (error instanceof Error) {
        child.recordException(error);
        child.setStatus({ code: SpanStatusCode.ERROR, message: error.message });
      }
      child.end();
    },
  };
}
