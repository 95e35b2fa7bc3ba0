import { SpanKind } from '@opentelemetry/api';
import type { Buffer } from 'node:buffer';
import { Failure } from '../contracts/failure.js';
import { consumerGroup, partitionKeys } from '../contracts/keys.js';
import { decodeResult, type Result } from '../contracts/result.js';
import type { AdmissionLimits, Enqueued } from '../contracts/scripts/enqueue.js';
import { leave, type Left } from '../contracts/scripts/leave.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import { newTaskId, type TaskSpec } from '../contracts/task.js';
import { overloaded } from './admission.js';
import type { EdgeMetrics } from './metrics.js';
import type { Producer } from './producer.js';
import type { RequestTrace } from './telemetry.js';
import { readStored, type Unmet, type Waiter } from './waiter.js';
import { within } from './within.js';

/** One checked request that the cache could not answer. */
export interface Order {
  readonly spec: TaskSpec;
  readonly work: string;
  readonly image: Buffer;
  /** Milliseconds until the request's deadline. */
  readonly timeLeftMs: number;
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

export interface CrossingDeps {
  readonly client: StreamClient;
  readonly producer: Producer;
  readonly waiter: Waiter;
  readonly limits: AdmissionLimits;
  readonly metrics: EdgeMetrics;
}

type Taken = Exclude<Enqueued, { how: 'shed' }>;

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
    await cancelTask(deps, order.spec, taken.id);
  };
  cancel().catch(() => undefined);
  return new Failure('deadline_exceeded', `the stream did not answer for task ${id} by its deadline`);
}

async function send(deps: CrossingDeps, order: Order, id: string): Promise<Taken> {
  const { spec, work, image, timeLeftMs, trace } = order;
  const span = trace.child('enqueue', SpanKind.PRODUCER, enqueueAttributes(trace, spec, id));
  try {
    const traceparent = trace.traceparent(span);
    const enqueued = await deps.producer.enqueue({ id, spec, work, image, timeLeftMs, traceparent });
    deps.metrics.enqueued.add(1, { model: spec.model, how: enqueued.how });
    if (enqueued.how === 'shed') throw overloaded(spec.model, enqueued, deps.limits);
    if (enqueued.how === 'joined') trace.link(span, enqueued.traceparent);
    trace.endChild(span);
    return enqueued;
  } catch (error) {
    trace.endChild(span, error);
    throw error instanceof Failure ? error : streamUnavailable(error);
  }
}

/** At the end of a wait without a reply: the stored result is the truth; without one the task is cancelled. */
async function giveUp(deps: CrossingDeps, order: Order, taskId: string, why: Unmet): Promise<Result> {
  const late = new Failure('deadline_exceeded', `no result for task ${taskId} by its deadline`);
  try {
    const left = await within(lastLookMs, cancelTask(deps, order.spec, taskId));
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

/** Leaves the task, unless others wait for it too. */
async function cancelTask(deps: CrossingDeps, { model, lane }: TaskSpec, taskId: string): Promise<Left | undefined> {
  const [left] = await leave(deps.client, { model, lane, keepResultMs: 1 }, [{ taskId, reason: 'cancelled' }]);
  return left;
}

function streamUnavailable(cause: unknown): Failure {
  const full = cause instanceof Error && cause.message.startsWith('OOM');
  const detail = full ? 'the stream is out of memory' : 'the stream cannot be reached';
  return new Failure('stream_unavailable', detail, { cause, retryAfter: 1 });
}

function enqueueAttributes(trace: RequestTrace, spec: TaskSpec, id: string): Record<string, string | number> {
  if (!trace.sampled) return {};
  return {
    'messaging.system': 'redis',
    'messaging.operation.type': 'send',
    'messaging.operation.name': 'enqueue',
    'messaging.destination.name': partitionKeys(spec.model).tasks(spec.lane),
    'messaging.consumer.group.name': consumerGroup,
    'messaging.message.id': id,
    'messaging.message.body.size': spec.bytes,
  };
}
