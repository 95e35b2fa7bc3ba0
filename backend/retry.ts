import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';

const firstWaitMs = 50;
const longestWaitMs = 2000;

export interface Retrying {
  /** Told of every failure; see reportOnceASecond. */
  readonly report: (error: unknown, what: string) => void;
  readonly random: () => number;
  /** Aborted when it is no use going on; the last error is thrown then. */
  readonly signal: AbortSignal;
}

/** Logs failures of Redis, all that share it together at most once a second. */
export function reportOnceASecond(log: Logger): Retrying['report'] {
  let quietUntil = -Infinity;
  return (error, what) => {
    if (performance.now() < quietUntil) return;
    quietUntil = performance.now() + 1000;
    log.warn({ err: error, what }, 'Redis does not answer; trying again');
  };
}

/** What Redis answers while it cannot serve, but will again. */
const passing = /^(LOADING|BUSY|OOM|READONLY|MASTERDOWN|CLUSTERDOWN|TRYAGAIN|NOREPLICAS|MISCONF|UNBLOCKED|NOSCRIPT) /;

/** Whether Redis understood a command and refuses it for good: asking again gives the same answer. */
export function isRefusal(error: unknown): boolean {
  return error instanceof Error && error.name === 'ReplyError' && !passing.test(error.message);
}

/**
 * Does something until Redis lets it, waiting longer from time to time (exponential, with jitter).
 * @throws what Redis refuses for good, and the last error once it is no use going on
 * @param what for the log, for example "read"
 */
export async function untilRedisAnswers<T>(what: string, retrying: Retrying, attempt: () => Promise<T>): Promise<T> {
  let waitMs = firstWaitMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (retrying.signal.aborted || isRefusal(error)) throw error;
      retrying.report(error, what);
      await sleep(waitMs * (0.5 + 0.5 * retrying.random()), undefined, { signal: retrying.signal }).catch(
        () => undefined,
      );
      waitMs = Math.min(longestWaitMs, waitMs * 2);
    }
  }
}
