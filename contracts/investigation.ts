import type { KeptSpan } from './kept-span.js';
import { readTrace, readTracesSince } from './kept-traces.js';
import type { StreamClient } from './scripts/scripts.js';
import { partsOf, type TraceParts } from './trace-parts.js';
import { baselineOf, verdictOn, type Verdict } from './trace-verdict.js';

/** A kept trace, and what is to be said of it. */
export interface Investigation {
  /** Its own, and those of others that it links. */
  readonly spans: readonly KeptSpan[];
  /** Undefined where the request's own span is not kept, or was never there. */
  readonly request: (TraceParts & { readonly verdict: Verdict }) | undefined;
}

/** What a trace is held against: its model's last hour, or so many of it. */
const sinceMs = 3_600_000;
const mostOthers = 100;

/**
 * Reads a trace and judges it beside other requests to the same model.
 * @param client of the cache role
 * @param now milliseconds since the epoch
 * @returns undefined where nothing of it is kept
 */
export async function investigate(
  client: StreamClient,
  traceId: string,
  now: number,
): Promise<Investigation | undefined> {
  const spans = await readTrace(client, traceId);
  if (spans.length === 0) return undefined;
  const request = partsOf(spans, traceId);
  if (!request) return { spans, request };
  const others = await othersOf(client, request, traceId, now);
  return { spans, request: { ...request, verdict: verdictOn(request, baselineOf(others)) } };
}

/** Those that crossed the stream, or did not, as this one. */
async function othersOf(
  client: StreamClient,
  request: TraceParts,
  traceId: string,
  now: number,
): Promise<TraceParts[]> {
  const traces = await readTracesSince(client, now - sinceMs, mostOthers);
  const crossed = ({ parts }: TraceParts) => parts.admission > 0;
  return traces
    .filter(([first]) => first && first.traceId !== traceId)
    .flatMap((spans) => partsOf(spans, spans[0]?.traceId ?? '') ?? [])
    .filter((other) => other.model === request.model && crossed(other) === crossed(request));
}
