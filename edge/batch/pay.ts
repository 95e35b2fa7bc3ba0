import { Failure } from '../../contracts/failure.js';
import type { Batch } from './batch.js';

/**
 * Pays for one more picture; where that is a matter of the rate alone it waits, for as long as a picture has.
 * @throws Failure rate_limited | quota_exhausted
 */
export async function payForPicture({ deps, principal, timeoutMs, signal }: Batch): Promise<void> {
  const until = deps.clock.now() + timeoutMs;
  for (;;) {
    try {
      await deps.limiter.payMore(principal, 1);
      return;
    } catch (error) {
      const againInMs = untilRate(error);
      if (againInMs === undefined || deps.clock.now() + againInMs > until || signal.aborted) throw error;
      await new Promise((resolve) => setTimeout(resolve, againInMs));
    }
  }
}

/** Milliseconds; undefined where waiting does not help. */
function untilRate(error: unknown): number | undefined {
  if (!(error instanceof Failure) || error.code !== 'rate_limited' || error.retryAfter === undefined) return undefined;
  return error.retryAfter * 1000;
}
