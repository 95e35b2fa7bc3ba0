import { TraceFlags, type Counter, type Meter } from '@opentelemetry/api';
import type { tracing } from '@opentelemetry/sdk-node';
import type { KeptSpan } from '../../contracts/kept-span.js';
import { keptSpanOf } from './kept-span.js';
import { within } from './within.js';

/** Where spans are kept. */
export interface SpanKeeper {
  /** Answers how many of them it kept. @throws where it cannot be asked, or refuses */
  keep(spans: readonly KeptSpan[]): Promise<number>;
  /** Told why spans were not kept, seldom. */
  warn(error: unknown): void;
}

export interface TraceStoreOptions extends SpanKeeper {
  readonly meter: Pick<Meter, 'createCounter'>;
  /** Most spans that wait (default 4096). */
  readonly mostWaiting?: number;
  /** Milliseconds between two writes (default 500). */
  readonly everyMs?: number;
  /** Milliseconds that a store is left alone that could not be written (default 2000). */
  readonly leaveAloneMs?: number;
  /** Milliseconds that a flush or the shutdown may take (default 1000). */
  readonly flushLimitMs?: number;
}

/** Spans of one write: what is made of them at a time must not hold up a request. */
const spansOfWrite = 50;

/**
 * Keeps ended sampled spans, about twice a second and in no request's way: ending a span puts it in a queue, no more.
 * What is too much (`full`), or cannot be written (`unwritten`), or is refused by the store (`refused`) is dropped and
 * counted by that reason. It never throws.
 */
export function createTraceStore(options: TraceStoreOptions): tracing.SpanProcessor {
  const { mostWaiting = 4096, everyMs = 500, leaveAloneMs = 2000, flushLimitMs = 1000 } = options;
  const counts = createCounts(options.meter);
  let waiting: tracing.ReadableSpan[] = [];
  let writing: Promise<void> | undefined;
  let leftAloneUntil = 0;
  let isShut = false;

  async function writeNext(): Promise<boolean> {
    const spans = waiting.splice(0, spansOfWrite);
    try {
      const kept = await options.keep(spans.map(keptSpanOf));
      counts.kept.add(kept);
      counts.drop('refused', spans.length - kept);
      return true;
    } catch (error) {
      counts.drop('unwritten', spans.length);
      leftAloneUntil = performance.now() + leaveAloneMs;
      options.warn(error);
      return false;
    }
  }

  async function writeAll(): Promise<void> {
    while (waiting.length > 0 && (await writeNext()));
  }

  /** One at a time, so that a store that answers slowly is not asked ever more. */
  function write(): Promise<void> {
    writing ??= writeAll().finally(() => (writing = undefined));
    return writing;
  }

  const timer = setInterval(() => {
    if (performance.now() >= leftAloneUntil) void write();
  }, everyMs);
  timer.unref();

  return {
    onStart: () => undefined,
    onEnd: (span) => {
      if ((span.spanContext().traceFlags & TraceFlags.SAMPLED) === 0) return;
      if (isShut || waiting.length >= mostWaiting) counts.drop('full', 1);
      else waiting.push(span);
    },
    forceFlush: () => within(flushLimitMs, write()),
    shutdown: async () => {
      clearInterval(timer);
      isShut = true;
      await within(flushLimitMs, write());
      counts.drop('unwritten', waiting.length);
      waiting = [];
    },
  };
}

interface Counts {
  readonly kept: Counter;
  drop(reason: 'full' | 'unwritten' | 'refused', spans: number): void;
}

function createCounts(meter: TraceStoreOptions['meter']): Counts {
  const dropped = meter.createCounter('trace_spans_dropped', {
    description: 'Ended sampled spans that were not kept, by reason.',
  });
  return {
    kept: meter.createCounter('trace_spans_kept', { description: 'Ended sampled spans that were kept.' }),
    drop: (reason, spans) => {
      if (spans > 0) dropped.add(spans, { reason });
    },
  };
}
