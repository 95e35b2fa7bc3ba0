import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

const firstWaitMs = 50;
const longestWaitMs = 2000;

export interface Retrying {
  readonly log: Logger;
  readonly random: () => number;
  /** Aborted when it is no use going on; the last error is thrown then. */
  readonly signal: AbortSignal;
}

/** What Redis answers while it cannot serve, but will again. */
const passing = /^(LOADING|BUSY|OOM|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|UNBLOCKED|NOSCRIPT) /;

/** Whether Redis understood a command and refuses it for good: asking again gives the same answer. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && !passing.test(error.message);
}

/**
 * Does something until Redis lets it, waiting longer from time to time (exponential, with full jitter), with at most
 * one log line a second.
 * @throws what Redis refuses for good, and the last error once it is no use going on
 * @param what for the log, for example "read"
 */
export async function untilRedisAnswers<T>(what: string, retrying: Retrying, attempt: () => Promise<T>): Promise<T> {
  let waitMs = firstWaitMs;
  let loggedAt = -Infinity;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (retrying.signal.aborted || isRefusal(error)) throw error;
      if (performance.now() - loggedAt >= 1000) {
        retrying.log.warn({ err: error, what }, 'Redis does not answer; trying again');
        loggedAt = performance.now();
      }
      await sleep(waitMs * (0.5 + 0.5 * retrying.random()), undefined, { signal: retrying.signal }).catch(
        () => undefined,
      );
      waitMs = Math.min(longestWaitMs, waitMs * 2);
    }
  }
}
