import { SpanKind } from '@opentelemetry/api';
import { Failure } from '../contracts/failure.js';
import { consumerGroup, partitionKeys } from '../contracts/keys.js';
import type { AdmissionLimits, Enqueued } from '../contracts/scripts/enqueue.js';
import { leave, type Left } from '../contracts/scripts/leave.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import type { TaskSpec } from '../contracts/task.js';
import { overloaded } from './admission.js';
import type { Order } from './crossing.js';
import type { EdgeMetrics } from './metrics.js';
import type { Producer } from './producer.js';
import type { RequestTrace } from './telemetry.js';

/** A task that is in the stream: the request's own, or the one that it joined. */
export type Taken = Exclude<Enqueued, { how: 'shed' }>;

export interface SendDeps {
  readonly producer: Producer;
  readonly limits: AdmissionLimits;
  readonly metrics: EdgeMetrics;
}

/** Sends an order's task, counted and traced. @throws Failure overloaded | stream_unavailable */
export async function send(deps: SendDeps, order: Order, id: string): Promise<Taken> {
  const { spec, work, image, inShare = false, comesAgain = false, timeLeftMs, trace } = order;
  const span = trace.child('enqueue', SpanKind.PRODUCER, enqueueAttributes(trace, spec, id));
  try {
    const traceparent = trace.traceparent(span);
    const enqueued = await deps.producer.enqueue({
      id,
      spec,
      work,
      image,
      inShare,
      comesAgain,
      timeLeftMs,
      traceparent,
    });
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

/** Leaves a task, unless others wait for it too. */
export async function cancelTask(
  client: StreamClient,
  { model, lane }: Pick<TaskSpec, 'model' | 'lane'>,
  taskId: string,
): Promise<Left | undefined> {
  const [left] = await leave(client, { model, lane, keepResultMs: 1 }, [{ taskId, reason: 'cancelled' }]);
  return left;
}

/** What is told when the stream did not do as it was asked. */
export function streamUnavailable(cause: unknown): Failure {
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
