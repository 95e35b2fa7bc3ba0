import type { Buffer } from 'node:buffer';
import type { Tracer } from '@opentelemetry/api';
import type { AccessRecord } from './access-log.js';
import type { Limiter } from './access/limiter.js';
import type { Principal } from './access/principal.js';
import type { OnPiece } from './body/read-body.js';
import type { Cache } from './cache.js';
import type { EdgeConfig } from './config.js';
import type { Cross } from './crossing.js';
import type { Followers } from './followers.js';
import type { KeptTraces } from './kept-traces.js';
import type { EdgeMetrics } from './metrics.js';
import type { ModelView } from './models.js';
import type { EdgeContext } from './request.js';
import type { Submissions } from './submissions.js';
import type { UsageAccount } from './usage.js';

export interface Readiness {
  readonly ready: boolean;
  /** Why not, for people; empty when ready. */
  readonly reasons: readonly string[];
}

export interface Clock {
  /** Milliseconds, monotonic. */
  now(): number;
}

/** This host's clock beside that; it may be off by minutes. */
export interface HostClock extends Clock {
  /** Milliseconds since the epoch. */
  sinceEpoch(): number;
}

/** All that the edge's core needs from outside: what a runtime, a store or a test puts in its place. */
export interface EdgeDeps {
  readonly config: EdgeConfig;
  readonly clock: HostClock;
  /** Who sends a request. @throws Failure of the kinds credentials_… */
  authenticate(c: EdgeContext): Principal | Promise<Principal>;
  readonly limiter: Limiter;
  readonly usage: Pick<UsageAccount, 'count'>;
  /** The whole body; its pieces are told of as they arrive. @throws Failure body_too_large | body_incomplete */
  readBody(c: EdgeContext, maxBytes: number, onPiece?: OnPiece): Promise<Buffer>;
  /** The body as it arrives; what is not asked for stays with the client. @throws Failure body_incomplete, while it is read */
  bodyPieces(c: EdgeContext): AsyncIterable<Uint8Array>;
  /** Before an answer ends after which the connection closes: the rest of the body goes first, or takes it along. */
  discardBody(c: EdgeContext): Promise<void>;
  clientAddress(c: EdgeContext): string;
  readonly cross: Cross;
  readonly submissions: Submissions;
  readonly followers: Followers;
  /** Aborted when this edge stops: who waits for what may take long is answered then. */
  readonly stopping: AbortSignal;
  readonly cache: Cache;
  readonly models: ModelView;
  readonly traces: KeptTraces;
  readonly tracer: Tracer;
  readonly metrics: EdgeMetrics;
  /** Takes a record and returns at once. */
  accessLog(record: AccessRecord): void;
  /** Told of every error that is no coded failure. */
  reportError(error: unknown, requestId: string): void;
  ready(): Promise<Readiness>;
}
