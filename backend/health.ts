/** Whether a model still does what it should on this consumer; pure, with the clock passed in (milliseconds). */
export interface Health {
  /** True from the last of several failed batches until the canary passes; nothing is read meanwhile. */
  readonly sick: boolean;
  /** When the canary is to run; undefined while all is well. */
  readonly canaryAt: number | undefined;
  /** Notes the end of a batch; answers whether the consumer fell sick over it. */
  batchEnded(succeeded: boolean, now: number): boolean;
  canaryEnded(passed: boolean, now: number): void;
}

const mostFailedInARow = 3;
const firstCanaryMs = 1000;
const rarestCanaryMs = 30_000;

export function createHealth(): Health {
  let failedInARow = 0;
  let canaryAt: number | undefined;
  let waitMs = firstCanaryMs;
  return {
    get sick() {
      return canaryAt !== undefined;
    },
    get canaryAt() {
      return canaryAt;
    },
    batchEnded: (succeeded, now) => {
      failedInARow = succeeded ? 0 : failedInARow + 1;
      if (failedInARow < mostFailedInARow || canaryAt !== undefined) return false;
      canaryAt = now;
      waitMs = firstCanaryMs;
      return true;
    },
    canaryEnded: (passed, now) => {
      if (passed) {
        failedInARow = 0;
        canaryAt = undefined;
      } else {
        canaryAt = now + waitMs;
        waitMs = Math.min(rarestCanaryMs, waitMs * 2);
      }
    },
  };
}
