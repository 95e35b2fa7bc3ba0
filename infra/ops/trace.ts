import { InvalidArgumentError, type Command } from 'commander';
import type { Redis } from 'ioredis';
import { investigate } from '../../contracts/investigation.js';
import type { KeptSpan } from '../../contracts/kept-span.js';
import { findTrace, listTraces, type TraceSummary } from '../../contracts/kept-traces.js';
import { partNames, type TraceParts } from '../../contracts/trace-parts.js';
import { verdictText } from '../../contracts/trace-verdict.js';
import { drawTrace } from '../trace/trace-tree.js';
import { connectedToCache } from './connected.js';
import { drawTable } from './table.js';

const lists = new Map([
  ['recent', 'recent'],
  ['slowest', 'slow'],
  ['failed', 'failed'],
] as const);

/** `ops trace`: why a request was slow, or failed. */
export function addTraceCommand(program: Command): void {
  program
    .command('trace <which>')
    .description(
      'draws a kept trace, by the id of the trace, its request or its task; slowest, failed or recent list some, and draw the first',
    )
    .option('--count <n>', 'how many are listed', countFrom, 10)
    .action(show);
}

async function show(which: string, { count }: { readonly count: number }): Promise<void> {
  await connectedToCache(async (cache) => {
    const list = [...lists].find(([word]) => word === which)?.[1];
    if (list) await showList(cache, list, count);
    else await draw(cache, await theTrace(cache, which));
  });
}

async function showList(cache: Redis, list: 'recent' | 'slow' | 'failed', count: number): Promise<void> {
  const traces = await listTraces(cache, list, count);
  console.log(drawTable(['when', 'ms', 'status', 'model', 'trace', 'request'], traces.map(row)));
  const [first] = traces;
  if (!first) return;
  console.log();
  await draw(cache, first.traceId);
}

function row({ startMs, ms, status, model, traceId, requestId }: TraceSummary): readonly string[] {
  const when = new Date(startMs).toISOString().slice(0, 23).replace('T', ' ');
  return [when, ms?.toFixed(1) ?? '-', status || '-', model || '-', traceId, requestId || '-'];
}

async function theTrace(cache: Redis, id: string): Promise<string> {
  const traceId = await findTrace(cache, id);
  if (traceId === undefined) throw noTrace(id);
  return traceId;
}

async function draw(cache: Redis, traceId: string): Promise<void> {
  const found = await investigate(cache, traceId, Date.now());
  if (!found) throw noTrace(traceId);
  const { spans, request } = found;
  console.log(drawTrace(spans.map(drawn), traceId));
  if (request) console.log(`\n${partsLine(request)}\n${verdictText(request.verdict)}`);
}

function partsLine({ parts, totalMs }: TraceParts): string {
  const told = partNames.filter((name) => parts[name] > 0).map((name) => `${name} ${parts[name].toFixed(1)}`);
  return `${totalMs.toFixed(1)} ms: ${told.join(' + ')}`;
}

function drawn(span: KeptSpan) {
  return {
    ...span,
    startNs: BigInt(span.startNs),
    endNs: BigInt(span.endNs),
    attributes: Object.fromEntries(Object.entries(span.attributes).map(([name, value]) => [name, plain(value)])),
  };
}

/** A list may have gaps, which are drawn as nothing. */
function plain(value: KeptSpan['attributes'][string]) {
  return Array.isArray(value) ? value.map((one) => one ?? undefined) : value;
}

function noTrace(id: string): Error {
  return new Error(`no trace is kept by the id ${id}: it was not sampled, or is too old`);
}

function countFrom(text: string): number {
  const count = Number(text);
  if (!Number.isInteger(count) || count < 1 || count > 1000) {
    throw new InvalidArgumentError('expected a whole number from 1 to 1000');
  }
  return count;
}
