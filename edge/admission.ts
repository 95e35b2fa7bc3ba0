/** Bounds of the advice when to come back, in seconds. */
const soonest = 1;
const latest = 30;

/**
 * When to come back after being shed: once the backlog that is admitted now has been worked off.
 * @param tasks admitted at the moment
 * @param tasksPerSecond what the live consumers last reported together; 0 where nothing is known yet
 * @returns whole seconds, for Retry-After
 */
export function retryAfterSeconds(tasks: number, tasksPerSecond: number): number {
  if (tasksPerSecond <= 0) return soonest;
  return Math.min(latest, Math.max(soonest, Math.ceil(tasks / tasksPerSecond)));
}
