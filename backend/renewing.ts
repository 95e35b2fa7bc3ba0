import type { ConsumerState } from './consumer.js';
import { renewLeases, type LeaseDeps } from './lease.js';

/** Renewals in the time of one lease. */
const perLease = 4;

/**
 * Renews every lease again and again, on a timer of this thread, which runs go on beside. It also notes since when
 * renewing has worked without a break: a consumer that stood still, or that Redis did not answer, must not take others for
 * dead, since they may have been cut off as it was.
 * @returns a function that stops it
 */
export function startRenewing(deps: LeaseDeps, state: ConsumerState): () => void {
  const everyMs = deps.leaseMs / perLease;
  let lastAt = deps.now();
  let underWay = false;
  const tick = async () => {
    const startedAt = deps.now();
    const stoodStill = startedAt - lastAt > deps.leaseMs / 2;
    lastAt = startedAt;
    if (stoodStill) state.steadySince = startedAt;
    if (underWay) return;
    underWay = true;
    try {
      const leases = state.leases.all();
      await (leases.length > 0 ? renewLeases(deps, leases) : deps.client.ping());
      if (deps.now() - startedAt > deps.leaseMs / 2) state.steadySince = deps.now();
    } catch {
      state.steadySince = deps.now();
    } finally {
      underWay = false;
    }
  };
  const timer = setInterval(() => void tick(), everyMs);
  return () => clearInterval(timer);
}
