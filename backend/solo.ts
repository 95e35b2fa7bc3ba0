import { Failure } from '../contracts/failure.js';
import { partitionKeys } from '../contracts/keys.js';
import { startSolo } from '../contracts/scripts/scripts.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Task } from './delivery.js';
import { failedOutcome, type Outcome } from './executor.js';
import { untilRedisAnswers } from './retry.js';

/** Runs alone that a task may begin; whoever was to begin the next one finds that each of these ended its process. */
export const mostSoloStarts = 2;

/** Whether a claimed task may run: recorded, so that it may; else how it ended, or that somebody else has it. */
export type SoloDecision =
  { readonly how: 'run' } | { readonly how: 'ended'; readonly outcome: Outcome } | { readonly how: 'lost' };

/** Records the start of a claimed task's run alone, or gives the task up. */
export async function decideSolo(deps: ConsumerDeps, state: ConsumerState, task: Task): Promise<SoloDecision> {
  const { consumer, client } = deps;
  const { stream, entryId, taskId } = task.delivery;
  const held = { stream, entryId, consumer, task: partitionKeys(task.spec.model).task(taskId) };
  const start = await untilRedisAnswers('solo', state.retrying, () => startSolo(client, held, mostSoloStarts));
  switch (start.how) {
    case 'started':
      return { how: 'run' };
    case 'lost':
      task.delivery.lease.lost = true;
      return { how: 'lost' };
    case 'gone':
      return {
        how: 'ended',
        outcome: failedOutcome(task, new Failure('task_lost', 'the task has left'), 'task_unreadable'),
      };
    case 'over':
      return { how: 'ended', outcome: deadOutcome(consumer, task, start.starts, start.deliveries) };
  }
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
