import { SpanKind, SpanStatusCode, type Attributes, type HrTime } from '@opentelemetry/api';
import type { tracing } from '@opentelemetry/sdk-node';
import type { KeptSpan } from '../../contracts/kept-span.js';

const kinds = {
  [SpanKind.INTERNAL]: 'internal',
  [SpanKind.SERVER]: 'server',
  [SpanKind.CLIENT]: 'client',
  [SpanKind.PRODUCER]: 'producer',
  [SpanKind.CONSUMER]: 'consumer',
} as const;

const statuses = {
  [SpanStatusCode.UNSET]: 'unset',
  [SpanStatusCode.OK]: 'ok',
  [SpanStatusCode.ERROR]: 'error',
} as const;

/** An ended span of the SDK, as it is kept. */
export function keptSpanOf(span: tracing.ReadableSpan): KeptSpan {
  const { traceId, spanId } = span.spanContext();
  const { attributes } = span.resource;
  return {
    ...{ traceId, spanId, parentSpanId: span.parentSpanContext?.spanId ?? '' },
    ...{ name: span.name, kind: kinds[span.kind] },
    ...{ startNs: nanoseconds(span.startTime), endNs: nanoseconds(span.endTime) },
    ...{ service: wordOf(attributes['service.name']), instance: wordOf(attributes['service.instance.id']) },
    attributes: given(span.attributes),
    links: span.links.map(({ context }) => ({ traceId: context.traceId, spanId: context.spanId })),
    status: { code: statuses[span.status.code], message: span.status.message ?? '' },
  };
}

function nanoseconds([seconds, rest]: HrTime): string {
  return String(BigInt(seconds) * 1_000_000_000n + BigInt(rest));
}

function given(attributes: Attributes): KeptSpan['attributes'] {
  const kept: KeptSpan['attributes'] = {};
  for (const [name, value] of Object.entries(attributes)) {
    if (Array.isArray(value)) kept[name] = value.map((one) => one ?? null);
    else if (value !== undefined) kept[name] = value;
  }
  return kept;
}

function wordOf(value: unknown): string {
  return typeof value === 'string' ? value : '';
}
