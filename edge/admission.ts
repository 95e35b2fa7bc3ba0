import { Failure } from '../contracts/failure.js';
import type { AdmissionLimits, Enqueued, Share } from '../contracts/scripts/enqueue.js';

type Shed = Extract<Enqueued, { how: 'shed' }>;

export interface ShareLimits {
  /** Milliseconds of the consumers that one tenant may fill. */
  readonly shareMs: number;
  /** Milliseconds that callers who wait one by one have, as a rule. */
  readonly timeoutMs: number;
}

/** So many tasks any tenant may have, however slow the consumers: they are to get whole batches. */
const leastShare = 32;

/**
 * What one tenant may take with tasks whose callers do not wait one by one. Those of all tenants leave at least half of
 * the time to those who do.
 * @param tasksPerSecond what the consumers do; 0 where that is not known, and then there is no bound
 */
export function shareOf(tasksPerSecond: number, { shareMs, timeoutMs }: ShareLimits): Share {
  if (tasksPerSecond <= 0) return { tasks: 0, waitMs: 0 };
  const tasks = Math.max(leastShare, Math.ceil((tasksPerSecond * shareMs) / 1000));
  return { tasks, waitMs: Math.ceil(timeoutMs / 2) };
}

/**
 * When to come back after being shed.
 * @param turnMs milliseconds until there is room, after all who were shed before; 0 where that is not known
 * @returns whole seconds, for Retry-After, at least one
 */
export function retryAfterSeconds(turnMs: number): number {
  return Math.max(1, Math.ceil(turnMs / 1000));
}

/** What a client is told that was shed. */
export function overloaded(model: string, { limit, tasks, turnMs }: Shed, limits: AdmissionLimits): Failure {
  const why = {
    count: `the backlog of ${model} has reached its limit of ${limits.maxTasks} tasks`,
    bytes: `the backlog of ${model} has reached its limit of ${limits.maxBytes} bytes`,
    wait: `the ${tasks} tasks before it would take too long for its deadline, or for those who wait for theirs`,
    share: `the share of this tenant in the backlog of ${model} is taken`,
  };
  return new Failure('overloaded', why[limit], { retryAfter: retryAfterSeconds(turnMs) });
}
