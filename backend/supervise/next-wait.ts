/** How long a child that ended waits for its next start. */
export interface Wait {
  /** Before jitter; doubles from one quick end to the next. */
  readonly stepMs: number;
  readonly waitMs: number;
}

const firstStepMs = 500;
const longestStepMs = 30_000;
/** A child that lived this long had a start worth trusting. */
const longLifeMs = 60_000;

/**
 * @param last the wait before the child's last start, if there was one
 * @param livedMs how long the child has lived since
 * @param random 0 to 1; shortens the wait by up to a half, so that children which end together start apart
 */
export function nextWait(last: Wait | undefined, livedMs: number, random: number): Wait {
  const quick = last !== undefined && livedMs < longLifeMs;
  const stepMs = quick ? Math.min(longestStepMs, last.stepMs * 2) : firstStepMs;
  return { stepMs, waitMs: stepMs * (0.5 + 0.5 * random) };
}
