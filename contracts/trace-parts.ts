import { isRequest, spanMs, type KeptSpan } from './kept-span.js';

/** Where the time of a request went, in the order in which it goes. What nothing tells of is unexplained. */
export const partNames = [
  'body',
  'digest',
  'cache',
  'admission',
  'queue',
  'fetch',
  'decode',
  'batch wait',
  'device',
  'settle',
  'reply',
  'joined task',
  'unexplained',
] as const;
export type PartName = (typeof partNames)[number];
export type Parts = Readonly<Record<PartName, number>>;

export interface TraceParts {
  /** Milliseconds from the request to its answer; the parts add up to it. */
  readonly totalMs: number;
  readonly parts: Parts;
  /** '' where it is not known. */
  readonly model: string;
}

/** Gaps between spans, whose starts have a grain of a millisecond; all other parts are durations. */
const gaps = ['body', 'fetch', 'batch wait', 'reply'] as const;

/**
 * Takes a request's trace apart. Times of two processes are never compared: their clocks may differ by minutes, so what
 * lies between them is what is left of a duration.
 * @param spans of one trace, and any of others
 * @returns undefined where the request's own span is not there
 */
export function partsOf(spans: readonly KeptSpan[], traceId: string): TraceParts | undefined {
  const own = spans.filter((span) => span.traceId === traceId);
  const request = own.find(isRequest);
  if (!request) return undefined;
  const parts = { ...noParts, ...edgeParts(own, request), ...streamParts(own) };
  const totalMs = spanMs(request);
  fit(parts, totalMs);
  return { totalMs, parts, model: modelOf(own, request) };
}

/** A request of which nothing is known. */
export const noParts: Parts = {
  ...{
    body: 0,
    digest: 0,
    cache: 0,
    admission: 0,
    queue: 0,
    fetch: 0,
    decode: 0,
    'batch wait': 0,
    device: 0,
    settle: 0,
  },
  ...{ reply: 0, 'joined task': 0, unexplained: 0 },
};

function edgeParts(own: readonly KeptSpan[], request: KeptSpan): Partial<Parts> {
  const digest = named(own, 'digest');
  return {
    body: digest ? between(request.startNs, digest.startNs) : 0,
    digest: msOf(digest),
    cache: msOf(named(own, 'cache lookup')),
    admission: msOf(named(own, 'enqueue')),
  };
}

/** What lies between the enqueue and the end of the wait for its result. */
function streamParts(own: readonly KeptSpan[]): Partial<Parts> {
  const waited = msOf(named(own, 'wait'));
  // Of several deliveries the last one settled.
  const process = own.filter(({ name }) => name === 'process').at(-1);
  if (!process) {
    const hasJoined = (named(own, 'enqueue')?.links.length ?? 0) > 0;
    return hasJoined ? { 'joined task': waited } : { queue: waited };
  }
  const of = (name: string) => own.find((span) => span.parentSpanId === process.spanId && span.name === name);
  const [decode, infer, settle] = [of('decode'), of('infer'), of('settle')];
  const queue = Math.max(0, Number(process.attributes['sampan.queue_ms'] ?? 0));
  return {
    queue,
    fetch: decode ? between(process.startNs, decode.startNs) : 0,
    decode: msOf(decode),
    'batch wait': decode && infer ? between(decode.endNs, infer.startNs) : 0,
    device: msOf(infer),
    settle: msOf(settle),
    reply: Math.max(0, waited - queue - spanMs(process)),
  };
}

/** Makes the parts add up to the whole: what is left is unexplained, what is too much is the grain of the gaps. */
function fit(parts: Record<PartName, number>, totalMs: number): void {
  let left = totalMs - partNames.reduce((sum, name) => sum + parts[name], 0);
  for (const name of [...gaps, ...partNames]) {
    if (left >= 0) break;
    const less = Math.min(parts[name], -left);
    parts[name] -= less;
    left += less;
  }
  parts.unexplained = Math.max(0, left);
}

function modelOf(own: readonly KeptSpan[], request: KeptSpan): string {
  const told = own.find((span) => typeof span.attributes['sampan.model'] === 'string')?.attributes['sampan.model'];
  if (typeof told === 'string') return told;
  return /^\/v1\/models\/([^/]+)\//.exec(String(request.attributes['url.path'] ?? ''))?.[1] ?? '';
}

function named(own: readonly KeptSpan[], name: string): KeptSpan | undefined {
  return own.find((span) => span.name === name);
}

function msOf(span: KeptSpan | undefined): number {
  return span ? Math.max(0, spanMs(span)) : 0;
}

function between(startNs: string, endNs: string): number {
  return Math.max(0, spanMs({ startNs, endNs }));
}
