import { Failure } from '../contracts/failure.js';
import type { AdmissionLimits, Enqueued } from '../contracts/scripts/enqueue.js';

type Shed = Extract<Enqueued, { how: 'shed' }>;

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
    wait: `the ${tasks} tasks before it would take too long for its deadline`,
  };
  return new Failure('overloaded', why[limit], { retryAfter: retryAfterSeconds(turnMs) });
}
