import { Failure } from '../contracts/failure.js';
import { partitionKeys } from '../contracts/keys.js';
import { startSolo, type SoloStart } from '../contracts/scripts/scripts.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Task } from './delivery.js';
import { failedOutcome, type Outcome } from './executor.js';
import { keepLeases } from './look-again.js';
import { isRefusal, untilRedisAnswers } from './retry.js';

/** Runs alone that a task may begin; whoever was to begin the next one finds that each of these ended its process. */
export const mostSoloStarts = 2;

/** Whether a claimed task may run: recorded, so that it may; else how it ended, or that somebody else has it. */
export type SoloDecision =
  { readonly how: 'run' } | { readonly how: 'ended'; readonly outcome: Outcome } | { readonly how: 'lost' };

/** Records the start of a claimed task's run alone, or gives the task up. */
export async function decideSolo(deps: ConsumerDeps, state: ConsumerState, task: Task): Promise<SoloDecision> {
  try {
    const start = await recordStart(deps, state, task);
    // This process may have stood still while it asked.
    await keepLeases(deps, state, [task]);
    return task.delivery.lease.lost ? { how: 'lost' } : decisionOn(deps, task, start);
  } catch (error) {
    if (isRefusal(error)) return endedWith(task, new Failure('task_unreadable', 'what is kept of the task is damaged'));
    if (!state.retrying.signal.aborted) throw error;
    // Redis is waited for no longer, so nothing may begin.
    return { how: 'lost' };
  }
}

function recordStart({ client, consumer }: ConsumerDeps, state: ConsumerState, { spec, delivery }: Task) {
  const { stream, entryId, taskId } = delivery;
  const held = { stream, entryId, consumer, task: partitionKeys(spec.model).task(taskId) };
  return untilRedisAnswers('solo', state.retrying, () => startSolo(client, held, mostSoloStarts));
}

function decisionOn({ consumer }: ConsumerDeps, task: Task, start: SoloStart): SoloDecision {
  switch (start.how) {
    case 'started':
      return { how: 'run' };
    case 'lost':
      task.delivery.lease.lost = true;
      return { how: 'lost' };
    case 'gone':
      return endedWith(task, new Failure('task_lost', 'the task has left'));
    case 'over':
      return { how: 'ended', outcome: deadOutcome(consumer, task, start.starts, start.deliveries) };
  }
}

function endedWith(task: Task, failure: Failure): SoloDecision {
  return { how: 'ended', outcome: failedOutcome(task, failure, 'task_unreadable') };
}

function deadOutcome(consumer: string, task: Task, starts: number, deliveries: number): Outcome {
  const { spec, delivery } = task;
  const reason = `${String(starts)} runs of this image alone did not come to an end`;
  const failure = new Failure('task_dead', reason);
  const { taskId, traceparent } = delivery;
  return {
    ...failedOutcome(task, failure, 'task_dead'),
    reason: 'dead',
    deadLetter: { v: 1, taskId, code: failure.code, reason, deliveries, consumer, traceparent, spec },
  };
}
