import type { Context } from 'hono';
import type { Paid } from './access/limiter.js';
import type { Principal } from './access/principal.js';
import type { RequestTrace } from './telemetry.js';

/** What becomes known about a request on its way; read by the log, the metrics and the trace when it ends. */
export interface RequestState {
  readonly requestId: string;
  readonly trace: RequestTrace;
  readonly startedAt: number;
  /** Pattern of the route, never the path itself. */
  readonly endpoint: string;
  cache: 'none' | 'hit' | 'miss' | 'joined';
  /** Who asks, once that is known. */
  principal?: Principal;
  /** Set where the caller's limits allowed the request. */
  paid?: Paid;
  /** Headers that let scripts of other origins read the answer; only where that is configured. */
  cors?: Readonly<Record<string, string>>;
  /** Only a name that is in the catalogue. */
  model?: string;
  bytes?: number;
  pixels?: number;
  /** Of a request with many pictures. */
  tally?: Tally;
  /** Code of the failure that it was answered with. */
  code?: string;
  /** Of an answer that is written piece by piece: resolves when it is out, or its client has gone. */
  streamed?: Promise<void>;
}

/** Pictures of one request by what became of them. */
export interface Tally {
  answered: number;
  hits: number;
  failed: number;
}

/** Bindings are what the runtime hands on with a request; only a runtime's own files look into them. */
export interface EdgeEnv {
  Bindings: object;
  Variables: { request: RequestState };
}
export type EdgeContext = Context<EdgeEnv>;

/** Answers a request, or throws a Failure. */
export type Handle = (c: EdgeContext) => Response | Promise<Response>;
