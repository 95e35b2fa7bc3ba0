import { Failure } from '../contracts/failure.js';
import { investigate, type Investigation } from '../contracts/investigation.js';
import { findTrace, searchTraces, type TraceQuery, type TraceSummary } from '../contracts/kept-traces.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import { within } from './within.js';

/** Traces that are kept, for those who look after the system. */
export interface KeptTraces {
  /** @throws Failure traces_unavailable */
  search(query: TraceQuery, count: number): Promise<readonly TraceSummary[]>;
  /**
   * @param id of a trace, its request or its task
   * @throws Failure trace_not_found | traces_unavailable
   */
  investigate(id: string): Promise<Investigation & { readonly traceId: string }>;
}

/** Milliseconds for an answer: hundreds of traces may have to be read. */
const answerLimitMs = 5000;

/**
 * @param client of the cache role, which answers nothing else
 * @param now milliseconds since the epoch
 */
export function createKeptTraces(client: StreamClient, now: () => number): KeptTraces {
  const asked = async <T>(answer: Promise<T>): Promise<T> => {
    try {
      return await within(answerLimitMs, answer);
    } catch (cause) {
      throw new Failure('traces_unavailable', 'the cache role, which keeps them, does not answer', {
        cause,
        retryAfter: 2,
      });
    }
  };
  return {
    search: (query, count) => asked(searchTraces(client, query, count)),
    investigate: async (id) => {
      const traceId = await asked(findTrace(client, id));
      const found = traceId === undefined ? undefined : await asked(investigate(client, traceId, now()));
      if (traceId === undefined || !found) throw notFound();
      return { ...found, traceId };
    },
  };
}

/** Where none are kept. */
export const noKeptTraces: KeptTraces = {
  search: () => Promise.resolve([]),
  investigate: () => Promise.reject(notFound()),
};

function notFound(): Failure {
  return new Failure('trace_not_found', 'it was not sampled, is kept no longer, or traces are not kept here');
}
