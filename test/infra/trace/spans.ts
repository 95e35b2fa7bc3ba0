import type { ReceivedSpan } from '../../../infra/trace/otlp-spans.js';

export const missId = 'aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa';
export const batchTraceId = 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb';

/** A span by hand; times in milliseconds after the trace's start. */
export function span(
  name: string,
  parentSpanId: string,
  [from, to]: readonly [number, number],
  more: Partial<ReceivedSpan> = {},
): ReceivedSpan {
  return {
    service: 'sampan-edge',
    traceId: missId,
    spanId: `${name}-id`,
    parentSpanId,
    name,
    kind: 'internal',
    startNs: BigInt(Math.round(from * 1e6)),
    endNs: BigInt(Math.round(to * 1e6)),
    attributes: {},
    links: [],
    events: [],
    status: { code: 'unset', message: '' },
    ...more,
  };
}

/** Every span of one miss, in the order in which a receiver gets them: ended first, sent first. */
export function wholeMiss(): ReceivedSpan[] {
  const service = 'sampan-backend';
  return [
    span('digest', 'POST-id', [1, 1.5]),
    span('cache lookup', 'POST-id', [1.5, 2]),
    span('enqueue', 'POST-id', [2, 3], { kind: 'producer' }),
    span('decode', 'process-id', [5, 9], { service }),
    span('infer', 'process-id', [9, 20], { service, links: [{ traceId: batchTraceId, spanId: 'batch-id' }] }),
    span('batch', '', [9, 20.25], {
      service,
      traceId: batchTraceId,
      links: [{ traceId: missId, spanId: 'process-id' }],
      attributes: { 'messaging.batch.message_count': 4 },
    }),
    span('settle', 'process-id', [20, 21], { service }),
    span('process', 'enqueue-id', [4, 21], { service, kind: 'consumer', attributes: { 'sampan.queue_ms': 0.75 } }),
    span('wait', 'POST-id', [3, 22]),
    span('POST', '', [0, 23], {
      kind: 'server',
      attributes: { 'http.response.status_code': 200, secret: 'not shown' },
    }),
  ];
}
