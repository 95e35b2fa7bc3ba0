import { answerBytes } from '../contracts/answer.js';
import { Failure } from '../contracts/failure.js';
import type { Seen } from '../contracts/scripts/submission.js';
import { parseTaskId } from '../contracts/task.js';
import type { TaskView, UnfinishedTask } from './openapi/answer-schemas.js';
import { problemOf } from './problem.js';
import type { Taken } from './send.js';

/** @param tasksPerSecond what the model's consumers do together; 0 where that is not known */
export function taskView(id: string, seen: Seen, tasksPerSecond: (model: string) => number): TaskView {
  const model = parseTaskId(id)?.model ?? '';
  switch (seen.state) {
    case 'waiting':
    case 'pending': {
      const { state, deadline, position } = seen;
      return { id, model, state, ...deadlineView(deadline), ...placeView(position, tasksPerSecond(model)) };
    }
    case 'finished':
      return finishedView(id, model, seen);
    case 'cancelled':
      return { id, model, state: 'cancelled' };
    case 'expired':
      return failedView(id, model, new Failure('deadline_exceeded', 'there was no result by the deadline'));
    case 'lost':
      return failedView(id, model, new Failure('task_lost', 'it is neither in the stream nor has it a result'));
  }
}

/** A task that has just been accepted; where one stands that was joined is not known. */
export function acceptedView(id: string, taken: Taken, tasksPerSecond: (model: string) => number): TaskView {
  const model = parseTaskId(id)?.model ?? '';
  const place = taken.how === 'admitted' ? placeView(taken.tasks, tasksPerSecond(model)) : {};
  return { id, model, state: 'waiting', ...deadlineView(taken.deadline), ...place };
}

/** A deadline of 0 is that of a task which left while its command was sent again. */
function deadlineView(deadline: number): Pick<UnfinishedTask, 'deadline'> {
  return deadline > 0 ? { deadline: new Date(deadline).toISOString() } : {};
}

function placeView(position: number, rate: number): Pick<UnfinishedTask, 'position' | 'expectedWaitMs'> {
  return { position, ...(rate > 0 ? { expectedWaitMs: Math.round((position * 1000) / rate) } : {}) };
}

export function hasEnded({ state }: TaskView): boolean {
  return state !== 'waiting' && state !== 'pending';
}

function finishedView(id: string, model: string, seen: Extract<Seen, { state: 'finished' }>): TaskView {
  const { result, taskId, kind } = seen;
  if (result.outcome === 'failed') return failedView(id, model, new Failure(result.code, result.detail));
  const { version, predictions, timing } = result;
  const cache = taskId === id ? 'miss' : 'joined';
  const bytes = answerBytes({ id: taskId, model, version, task: kind, cache, predictions, timing });
  const answer: unknown = JSON.parse(bytes.toString());
  return { id, model, state: 'succeeded', answer };
}

function failedView(id: string, model: string, failure: Failure): TaskView {
  const state = failure.code === 'deadline_exceeded' ? 'expired' : 'failed';
  return { id, model, state, problem: problemOf(failure) };
}
