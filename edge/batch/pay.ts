import { Failure } from '../../contracts/failure.js';
import type { Batch } from './batch.js';
import { untilBrokenOff } from './break-off.js';

/**
 * Pays for one more picture; where that is a matter of the rate alone it waits, for as long as a picture has.
 * @throws Failure rate_limited | quota_exhausted; what untilBrokenOff throws
 */
export async function payForPicture(batch: Batch): Promise<void> {
  const { deps, principal, request, timeoutMs } = batch;
  if (!request.paid) return;
  const until = deps.clock.now() + timeoutMs;
  for (;;) {
    try {
      const fields = await deps.limiter.payMore(principal, 1, request.paid);
      request.paid = { ...request.paid, fields };
      return;
    } catch (error) {
      const againInMs = untilRate(error);
      if (againInMs === undefined || deps.clock.now() + againInMs > until) throw error;
      await untilBrokenOff(batch, new Promise((resolve) => setTimeout(resolve, againInMs)));
    }
  }
}

/** Milliseconds; undefined where waiting does not help. */
function untilRate(error: unknown): number | undefined {
  return error instanceof Failure && error.code === 'rate_limited' ? error.retryAfterMs : undefined;
}
