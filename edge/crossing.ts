import type { Buffer } from 'node:buffer';
import { Failure } from '../contracts/failure.js';
import { decodeResult, type Result } from '../contracts/result.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import { newTaskId, type TaskSpec } from '../contracts/task.js';
import { cancelTask, send, type SendDeps, type Taken } from './send.js';
import type { RequestTrace } from './telemetry.js';
import { readStored, type Unmet, type Waiter } from './waiter.js';
import { within } from './within.js';

/** One checked request that the cache could not answer. */
export interface Order {
  readonly spec: TaskSpec;
  readonly work: string;
  readonly image: Buffer;
  /** Whether it counts towards its tenant's share: its caller does not wait for it alone. */
  readonly inShare?: boolean;
  /** Whether it comes again by itself where there is no room, so that it needs no turn. */
  readonly comesAgain?: boolean;
  /** Milliseconds until the request's deadline. */
  readonly timeLeftMs: number;
  /** Told when the stream has the image, which is not read after that. */
  readonly onSent?: () => void;
  /** Aborted when the client has gone. */
  readonly signal?: AbortSignal | undefined;
  readonly trace: RequestTrace;
}

/** A request's way across the stream and back. */
export interface Crossed {
  /** The task that answered: the request's own, or the one it joined. */
  readonly id: string;
  readonly cache: 'miss' | 'joined';
  readonly result: Result;
}

/**
 * Enqueues a task and waits for its result until the deadline.
 * @throws Failure overloaded | stream_unavailable | deadline_exceeded (detail holds the task's id) | task_lost
 */
export type Cross = (order: Order) => Promise<Crossed>;

export interface CrossingDeps extends SendDeps {
  readonly client: StreamClient;
  readonly waiter: Waiter;
}

/** Milliseconds past the deadline for which the stream is asked what became of the task. */
const lastLookMs = 1000;

/** The way across: register the waiter, enqueue, wait, and at the deadline look once more before giving up. */
export function createCrossing(deps: CrossingDeps): Cross {
  return async (order) => {
    if (order.timeLeftMs <= 0) throw new Failure('deadline_exceeded', 'the deadline passed before the image was there');
    const id = newTaskId(order.spec.model);
    const expectation = deps.waiter.expect(id);
    const ended = expectation.end(order.timeLeftMs, order.signal);
    try {
      const sent = send(deps, order, id);
      const taken = await Promise.race([
        sent,
        ended.then<Taken | Unmet>((end) => (typeof end === 'string' ? end : sent)),
      ]);
      if (typeof taken === 'string') throw unanswered(deps, order, id, sent);
      order.onSent?.();
      if (taken.how === 'joined') expectation.follow(taken.id);
      const wait = order.trace.child('wait');
      const end = await ended;
      order.trace.endChild(wait);
      const result = typeof end === 'string' ? await giveUp(deps, order, taken.id, end) : end;
      return { id: taken.id, cache: taken.how === 'joined' ? 'joined' : 'miss', result };
    } finally {
      expectation.forget();
    }
  };
}

/** The deadline came before the stream's answer; should the task be admitted after all, nobody waits for it. */
function unanswered(deps: CrossingDeps, order: Order, id: string, sent: Promise<Taken>): Failure {
  const cancel = async () => {
    const taken = await sent;
    await cancelTask(deps.client, order.spec, taken.id);
  };
  cancel().catch(() => undefined);
  return new Failure('deadline_exceeded', `the stream did not answer for task ${id} by its deadline`);
}

/** At the end of a wait without a reply: the stored result is the truth; without one the task is cancelled. */
async function giveUp(deps: CrossingDeps, order: Order, taskId: string, why: Unmet): Promise<Result> {
  const late = new Failure('deadline_exceeded', `no result for task ${taskId} by its deadline`);
  try {
    const left = await within(lastLookMs, cancelTask(deps.client, order.spec, taskId));
    if (left?.how !== 'gone') throw late;
    const stored = await within(lastLookMs, readStored(deps.client, taskId));
    if (stored) return decodeResult(stored);
  } catch (error) {
    throw error instanceof Failure ? error : late;
  }
  if (why === 'aborted') throw late;
  deps.metrics.tasksLost.add(1, { model: order.spec.model });
  throw new Failure('task_lost', `task ${taskId} is neither in the stream nor has it a result`);
}
