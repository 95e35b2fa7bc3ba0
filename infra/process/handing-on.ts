import type { Span, Tracer } from '@opentelemetry/api';
import type { tracing } from '@opentelemetry/sdk-node';

/**
 * A tracer whose recorded spans are told to one more processor when they have ended. NodeSDK makes its own processors
 * from the environment only where it is given none, so a further one cannot be among them.
 */
export function handingOn(tracer: Tracer, processor: Pick<tracing.SpanProcessor, 'onEnd'>): Tracer {
  return {
    startSpan: (name, options, context) => {
      const span = tracer.startSpan(name, options, context);
      if (!isReadable(span)) return span;
      const end = span.end.bind(span);
      span.end = (endTime) => {
        const isFirst = span.isRecording();
        end(endTime);
        if (isFirst) processor.onEnd(span);
      };
      return span;
    },
    startActiveSpan: tracer.startActiveSpan.bind(tracer),
  };
}

/** The SDK's spans can be read, though the interface of a span does not say so. */
function isReadable(span: Span): span is Span & tracing.ReadableSpan {
  return span.isRecording() && 'resource' in span && 'startTime' in span;
}
