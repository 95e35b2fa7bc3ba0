import type { AttributeValue, ReceivedSpan } from './otlp-spans.js';

/** Attributes worth a place in the line; the rest would hide them. */
const shownAttributes = [
  'http.response.status_code',
  'messaging.message.id',
  'sampan.queue_ms',
  'sampan.cache',
  'sampan.device',
  'messaging.batch.message_count',
  'sampan.batch.closed',
  'error.type',
];

/** A batch links all its members. */
const shownLinks = 4;

/** What is drawn of a span; where it came from is no matter. */
export type DrawnSpan = Omit<ReceivedSpan, 'events'>;

interface Row {
  readonly tree: string;
  readonly span: DrawnSpan;
}

/**
 * Draws one trace as a tree: name, start after the first span, duration, service, kind, attributes, links. Batches that
 * its spans link follow below as roots of their own. A span whose parent did not arrive stands as a root that says so.
 * @param spans all that arrived, of any trace, in any order
 */
export function drawTrace(spans: readonly DrawnSpan[], traceId: string): string {
  const own = spans.filter((span) => span.traceId === traceId);
  const linkedIds = new Set(own.flatMap((span) => span.links.map((link) => link.spanId)));
  const linked = spans.filter((span) => span.traceId !== traceId && linkedIds.has(span.spanId));
  const rows = [...rowsOf(own), ...linked.sort(byStart).map((span) => ({ tree: span.name, span }))];
  const origin = own.reduce((first, span) => (span.startNs < first ? span.startNs : first), own[0]?.startNs ?? 0n);
  const width = Math.max(0, ...rows.map((row) => row.tree.length));
  const lines = rows.map(({ tree, span }) =>
    [tree.padEnd(width), ...columns(span, origin), note(span, own, traceId), ...details(span, spans)]
      .filter((column) => column !== '')
      .join('  '),
  );
  return [`trace ${traceId}, ${own.length} spans`, ...lines].join('\n');
}

function rowsOf(spans: readonly DrawnSpan[]): Row[] {
  const ids = new Set(spans.map((span) => span.spanId));
  const roots = spans.filter((span) => !ids.has(span.parentSpanId));
  return roots.sort(byStart).flatMap((root) => [{ tree: root.name, span: root }, ...below(root, spans, '')]);
}

function below(parent: DrawnSpan, spans: readonly DrawnSpan[], indent: string): Row[] {
  const children = spans.filter((span) => span.parentSpanId === parent.spanId).sort(byStart);
  return children.flatMap((span, i) => {
    const last = i === children.length - 1;
    const row = { tree: `${indent}${last ? '└─ ' : '├─ '}${span.name}`, span };
    return [row, ...below(span, spans, `${indent}${last ? '   ' : '│  '}`)];
  });
}

function columns(span: DrawnSpan, origin: bigint): string[] {
  return [
    `+${milliseconds(span.startNs - origin)}`.padStart(9),
    `${milliseconds(span.endNs - span.startNs)} ms`.padStart(11),
    span.service.padEnd(14),
    span.kind.padEnd(8),
  ];
}

function note(span: DrawnSpan, own: readonly DrawnSpan[], traceId: string): string {
  if (span.traceId !== traceId) return `(a trace of its own, ${span.traceId.slice(0, 8)}…)`;
  const parentArrived = own.some((other) => other.spanId === span.parentSpanId);
  return span.parentSpanId !== '' && !parentArrived ? `(its parent ${span.parentSpanId} did not arrive)` : '';
}

function details(span: DrawnSpan, all: readonly DrawnSpan[]): string[] {
  const attributes = shownAttributes
    .filter((name) => span.attributes[name] !== undefined)
    .map((name) => `${name}=${shown(span.attributes[name])}`);
  const links = span.links.slice(0, shownLinks).map((link) => {
    const target = all.find((other) => other.spanId === link.spanId);
    return `→ ${target?.name ?? 'a span elsewhere'} ${link.spanId.slice(0, 8)}`;
  });
  const more = span.links.length - links.length;
  return [
    ...attributes,
    ...links,
    ...(more > 0 ? [`and ${more} more links`] : []),
    ...(span.status.code === 'error' ? [`failed: ${span.status.message}`] : []),
  ];
}

function shown(value: AttributeValue): string {
  return typeof value === 'number' ? String(Math.round(value * 1000) / 1000) : String(value);
}

/** Starts have a grain of a millisecond, durations are finer: of two that start together the shorter comes first. */
function byStart(a: DrawnSpan, b: DrawnSpan): number {
  return Number(a.startNs - b.startNs) || Number(a.endNs - b.endNs);
}

function milliseconds(ns: bigint): string {
  return (Number(ns) / 1e6).toFixed(2);
}
