import * as z from 'zod';
import { decodeKeptSpan, isRequest, namesOf, spanMs, tellsSlowness, type KeptSpan } from './kept-span.js';
import { traceKey, traceKeys } from './keys.js';
import type { StreamClient } from './scripts/scripts.js';

/** How much is kept, in all and of what. */
export interface KeepLimits {
  /** Most traces in all, and of them the slowest and the last failed ones, which are kept longest. */
  readonly traces: number;
  readonly slow: number;
  readonly failed: number;
  /** Most bytes of all, about. */
  readonly bytes: number;
  readonly spansOfTrace: number;
  readonly usualMs: number;
  /** Milliseconds that slow and failed ones are kept. */
  readonly longMs: number;
}

export const defaultKeepLimits: KeepLimits = {
  ...{ traces: 10_000, slow: 1000, failed: 1000, bytes: 64 * 1024 * 1024, spansOfTrace: 2000 },
  ...{ usualMs: 3_600_000, longMs: 86_400_000 },
};

/**
 * Keeps spans of any traces, each trace's at once; see scripts/keep-spans.lua. Spans that are there already are left as
 * they are, so all of it may be sent again where it is not known what became of it.
 * @param client of the cache role, taught the scripts
 * @param now milliseconds since the epoch; Redis's own where left out
 * @returns how many of them are kept: fewer where a trace has too many
 */
export async function keepSpans(
  client: StreamClient,
  spans: readonly KeptSpan[],
  limits: KeepLimits = defaultKeepLimits,
  now?: number,
): Promise<number> {
  const limited = [limits.traces, limits.slow, limits.failed, limits.bytes, limits.spansOfTrace];
  const { recent, slow, failed, until, about, names } = traceKeys;
  const kept = await Promise.all(
    [...byTrace(spans)].map(([traceId, own]) =>
      client.sampanKeepSpans(
        ...[recent, slow, failed, until, about, names, traceKey('')],
        ...[...limited, limits.usualMs, limits.longMs, now ?? '', traceId, ...tellOf(own)],
        ...requestFirst(own).flatMap((span) => [span.spanId, JSON.stringify(span)]),
      ),
    ),
  );
  return z
    .array(z.number())
    .parse(kept)
    .reduce((sum, count) => sum + count, 0);
}

function byTrace(spans: readonly KeptSpan[]): Map<string, KeptSpan[]> {
  const traces = new Map<string, KeptSpan[]>();
  for (const span of spans) {
    const own = traces.get(span.traceId);
    if (own) own.push(span);
    else traces.set(span.traceId, [span]);
  }
  return traces;
}

/** A request's span comes last of all, and there must be room for it where there are too many. */
function requestFirst(spans: readonly KeptSpan[]): readonly KeptSpan[] {
  const request = spans.find(isRequest);
  return request ? [request, ...spans.filter((span) => span !== request)] : spans;
}

/** Start, duration and failure of the request, what the trace links, and what else it is called. */
function tellOf(spans: readonly KeptSpan[]): (string | number)[] {
  const request = spans.find(isRequest);
  const start = Math.min(...spans.map(startMs));
  // A root's links are a batch's, to its many members; they are no part of it.
  const linked = spans.filter((span) => span.parentSpanId !== '').flatMap((span) => span.links);
  return [
    start,
    request && tellsSlowness(request) ? spanMs(request) : '',
    request?.status.code === 'error' ? 1 : 0,
    [...new Set(linked.map((link) => link.traceId))].join(' '),
    [...new Set(spans.flatMap(namesOf))].join(' '),
  ];
}

/** The trace that has this id, or whose request or task has; undefined where none is known by it. */
export async function findTrace(client: StreamClient, id: string): Promise<string | undefined> {
  if (await client.exists(traceKey(id))) return id;
  return (await client.hget(traceKeys.names, id)) ?? undefined;
}

/**
 * The spans of a trace that are kept, and those of others that they link: a task's batch, a batch's members.
 * Empty where it is kept no longer.
 */
export async function readTrace(client: StreamClient, traceId: string): Promise<readonly KeptSpan[]> {
  const own = decodeAll(await client.hvals(traceKey(traceId)));
  const elsewhere = own.flatMap((span) => span.links).filter((link) => link.traceId !== traceId);
  const linked = new Set(elsewhere.map((link) => `${link.traceId} ${link.spanId}`));
  const found = await Promise.all(
    [...linked].map((link) => {
      const [trace = '', span = ''] = link.split(' ');
      return client.hget(traceKey(trace), span);
    }),
  );
  return [...own, ...decodeAll(found)];
}

/** The spans of traces that began since then, the last first, each trace by itself and without what it links. */
export async function readTracesSince(
  client: StreamClient,
  sinceMs: number,
  most: number,
): Promise<readonly (readonly KeptSpan[])[]> {
  const ids = await client.zrevrangebyscore(traceKeys.recent, '+inf', sinceMs, 'LIMIT', 0, most);
  return Promise.all(ids.map(async (id) => decodeAll(await client.hvals(traceKey(id)))));
}

/** What a list tells of a trace. */
export interface TraceSummary {
  readonly traceId: string;
  /** Milliseconds since the epoch. */
  readonly startMs: number;
  /** These are not known of a trace whose request has not come, or has none. */
  readonly ms: number | undefined;
  readonly status: string;
  readonly model: string;
  readonly requestId: string;
}

/** Traces, the last or the slowest first; those that were evicted meanwhile are left out. */
export async function listTraces(
  client: StreamClient,
  which: 'recent' | 'slow' | 'failed',
  count: number,
): Promise<readonly TraceSummary[]> {
  return summaries(client, await client.zrevrange(traceKeys[which], 0, count - 1));
}

/** Which traces are looked for; what is left out is any. */
export interface TraceQuery {
  readonly model?: string | undefined;
  /** Milliseconds that their requests took at least: the slowest come first then, else the last. */
  readonly minMs?: number | undefined;
  /** That their requests were answered with, or its first digit. */
  readonly status?: string | undefined;
  /** Milliseconds since the epoch at which they began at the earliest. */
  readonly sinceMs?: number | undefined;
}

/** How many are looked at, and how many of them at a time. */
const mostLookedAt = 2000;
const lookedAtOnce = 100;

/** The first traces that a query means, among those that are kept; of very many others it may not see all. */
export async function searchTraces(client: StreamClient, query: TraceQuery, count: number): Promise<TraceSummary[]> {
  const { minMs, sinceMs = 0 } = query;
  const bySlowness = minMs !== undefined;
  const [key, least] = bySlowness ? [traceKeys.slow, minMs] : [traceKeys.recent, sinceMs];
  const found: TraceSummary[] = [];
  for (let seen = 0; seen < mostLookedAt && found.length < count; seen += lookedAtOnce) {
    const ids = await client.zrevrangebyscore(key, '+inf', least, 'LIMIT', seen, lookedAtOnce);
    found.push(...(await summaries(client, ids)).filter((one) => isMeant(one, query)));
    if (ids.length < lookedAtOnce) break;
  }
  return found.slice(0, count);
}

function isMeant(summary: TraceSummary, { model, minMs, status, sinceMs = 0 }: TraceQuery): boolean {
  if (model !== undefined && summary.model !== model) return false;
  if (minMs !== undefined && (summary.ms ?? 0) < minMs) return false;
  return summary.startMs >= sinceMs && summary.status.startsWith(status ?? '');
}

async function summaries(client: StreamClient, ids: readonly string[]): Promise<TraceSummary[]> {
  const traces = await Promise.all(ids.map(async (id) => decodeAll(await client.hvals(traceKey(id)))));
  return traces.flatMap((spans) => {
    const [first] = spans;
    return first ? [summaryOf(first.traceId, spans)] : [];
  });
}

function summaryOf(traceId: string, spans: readonly KeptSpan[]): TraceSummary {
  const request = spans.find(isRequest);
  const attribute = (name: string) => String(spans.find((span) => name in span.attributes)?.attributes[name] ?? '');
  const path = attribute('url.path');
  return {
    traceId,
    startMs: Math.min(...spans.map(startMs)),
    ms: request && spanMs(request),
    status: attribute('http.response.status_code'),
    model: attribute('sampan.model') || (/^\/v1\/models\/([^/]+)\//.exec(path)?.[1] ?? ''),
    requestId: attribute('sampan.request_id'),
  };
}

function decodeAll(texts: readonly (string | null)[]): KeptSpan[] {
  return texts.flatMap((text) => (text === null ? [] : (decodeKeptSpan(text) ?? [])));
}

function startMs({ startNs }: KeptSpan): number {
  return Number(BigInt(startNs) / 1_000_000n);
}
