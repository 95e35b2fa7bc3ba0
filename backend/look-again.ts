import { Failure } from '../contracts/failure.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Task } from './delivery.js';
import { failedOutcome, type Outcome } from './executor.js';
import { fetchDeadline } from './fetch.js';
import { isStale, renewLeases } from './lease.js';
import { isRefusal, untilRedisAnswers } from './retry.js';

/** What a look at held tasks found. */
export interface Looked<T> {
  /** Still wanted, and ours. */
  readonly wanted: readonly T[];
  /** Past their deadlines, or left meanwhile: cancelled, or ended by somebody else. */
  readonly ended: readonly Outcome[];
  /** Claimed by somebody else meanwhile, who will see to them. */
  readonly lost: readonly T[];
}

/** Milliseconds within which hardly anybody gives up; what has been held for longer is looked up before it costs a run. */
const freshMs = 20;

/**
 * Looks what became of tasks since they were read, before work is put into them: nobody waits any more for one that was
 * cancelled or is past its deadline (requests that joined may have moved it), and one whose lease ran out is somebody
 * else's.
 * @param heldSince when a task began to be held here; milliseconds, monotonic
 */
export async function lookAgain<T extends Task>(
  deps: ConsumerDeps,
  state: ConsumerState,
  tasks: readonly T[],
  heldSince: (task: T) => number,
): Promise<Looked<T>> {
  try {
    await keepLeases(deps, state, tasks);
    const askedAt = deps.redisClock.now();
    const asked = tasks
      .filter(isOurs)
      .filter((task) => deps.now() - heldSince(task) > freshMs || task.deadline <= askedAt);
    const deadlines = await Promise.all(asked.map((task) => deadlineOf(deps, state, task)));
    const redisNow = deps.redisClock.now();
    const over = new Map(
      asked.flatMap((task, i) => {
        const deadline = deadlines[i];
        return deadline !== undefined && deadline > redisNow ? [] : [[task, deadline] as const];
      }),
    );
    // This process may have stood still while it asked.
    await keepLeases(deps, state, tasks);
    const ended = [...over].filter(([task]) => isOurs(task));
    return {
      wanted: tasks.filter((task) => isOurs(task) && !over.has(task)),
      ended: ended.map(([task, deadline]) => failedOutcome(task, whyEnded(deadline), 'deadline_exceeded')),
      lost: tasks.filter((task) => !isOurs(task)),
    };
  } catch (error) {
    if (!state.retrying.signal.aborted) throw error;
    // Redis is waited for no longer, so nothing may begin.
    return { wanted: [], ended: [], lost: tasks };
  }
}

/** Renews leases until none may have run out: what is not marked as lost then is ours, and may begin. */
export async function keepLeases(deps: ConsumerDeps, state: ConsumerState, tasks: readonly Task[]): Promise<void> {
  for (;;) {
    const leases = tasks.filter(isOurs).map(({ delivery }) => delivery.lease);
    const stale = leases.filter((lease) => isStale(deps, lease));
    if (stale.length === 0) return;
    state.retrying.signal.throwIfAborted();
    await untilRedisAnswers('renew', state.retrying, () => renewLeases(deps, stale));
  }
}

function isOurs({ delivery }: Task): boolean {
  return !delivery.lease.lost;
}

/** A task that Redis refuses to tell about is run: settling will show what is wrong with it. */
async function deadlineOf(
  deps: ConsumerDeps,
  state: ConsumerState,
  { spec, delivery }: Task,
): Promise<number | undefined> {
  try {
    return await untilRedisAnswers('deadline', state.retrying, () =>
      fetchDeadline(deps.client, spec.model, delivery.taskId),
    );
  } catch (error) {
    if (isRefusal(error)) return Infinity;
    throw error;
  }
}

function whyEnded(deadline: number | undefined): Failure {
  return deadline === undefined
    ? new Failure('task_lost', 'the task has left')
    : new Failure('deadline_exceeded', 'the deadline passed before the device was free');
}
