import type { ReceivedSpan } from './otlp-spans.js';

/** Whose child each span of a miss is; the first has no parent here. */
const parents = {
  digest: 'server',
  'cache lookup': 'server',
  enqueue: 'server',
  wait: 'server',
  process: 'enqueue',
  decode: 'process',
  infer: 'process',
  settle: 'process',
} as const;

/** What keeps these spans from being the whole trace of one miss, in words; empty when it is whole. */
export function missingFromMiss(spans: readonly ReceivedSpan[], traceId: string): string[] {
  const own = spans.filter((span) => span.traceId === traceId);
  const find = (name: string) => own.find((span) => (name === 'server' ? span.kind === 'server' : span.name === name));
  const problems = find('server') ? [] : ['there is no server span'];
  for (const [name, parentName] of Object.entries(parents)) {
    const span = find(name);
    if (!span) problems.push(`there is no span "${name}"`);
    else if (span.parentSpanId !== find(parentName)?.spanId) problems.push(`"${name}" is no child of "${parentName}"`);
  }
  return [...problems, ...missingLinks(spans, find('process'), find('infer'))];
}

function missingLinks(
  spans: readonly ReceivedSpan[],
  process: ReceivedSpan | undefined,
  infer: ReceivedSpan | undefined,
): string[] {
  const links = (from: ReceivedSpan, to: ReceivedSpan) =>
    from.links.some((link) => link.traceId === to.traceId && link.spanId === to.spanId);
  const batch = spans.find((span) => span.name === 'batch' && process && links(span, process));
  if (!batch) return ['there is no batch span that links "process"'];
  return [
    ...(batch.parentSpanId === '' ? [] : ['the batch span is no root']),
    ...(infer && links(infer, batch) ? [] : ['"infer" does not link the batch span']),
  ];
}
