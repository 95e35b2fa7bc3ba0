import {
  INVALID_SPAN_CONTEXT,
  ROOT_CONTEXT,
  SpanKind,
  SpanStatusCode,
  trace,
  type Context,
  type Link,
  type Span,
  type Tracer,
} from '@opentelemetry/api';
import { Failure } from '../contracts/failure.js';
import { consumerGroup } from '../contracts/keys.js';
import { parseTraceparent } from '../contracts/traceparent.js';

/** What the span of a task tells about its delivery. */
export interface TracedDelivery {
  readonly traceparent: string;
  readonly stream: string;
  readonly taskId: string;
  /** Length of the encoded image. */
  readonly bytes: number;
  /** Milliseconds from enqueueing to delivery. */
  readonly queueMs: number;
  readonly model: { readonly manifest: { readonly name: string; readonly version: string } };
}

/**
 * A consumer's part in the trace of one task. Times are milliseconds since the epoch, fractions welcome; left out they
 * mean now, so spans can be written as things happen or all at once when the task has left.
 */
export interface TaskTrace {
  readonly sampled: boolean;
  /** The span `process`; records nothing where the task is not sampled. */
  readonly span: Span;
  /** Starts a child (decode, infer, settle); `batch` is the batch span it took part in. End it with `endSpan`. */
  child(name: string, startTime?: number, batch?: Span): Span;
  /** Ends `process`, after its children. */
  end(error?: unknown, endTime?: number): void;
}

/** Stands for every span that is not recorded. */
const silentSpan = trace.wrapSpanContext(INVALID_SPAN_CONTEXT);

/** Shared by all tasks that nobody traces: calling it costs nothing and makes no objects. */
export const unsampledTask: TaskTrace = {
  sampled: false,
  span: silentSpan,
  child: () => silentSpan,
  end: () => undefined,
};

/** Starts `process`, as a child of the edge's PRODUCER span that the entry names. */
export function startTaskTrace(
  tracer: Tracer,
  delivery: TracedDelivery,
  consumer: string,
  startTime?: number,
): TaskTrace {
  if (!saysSampled(delivery.traceparent)) return unsampledTask;
  const producer = parseTraceparent(delivery.traceparent);
  if (!producer) return unsampledTask;
  const options = { kind: SpanKind.CONSUMER, attributes: processAttributes(delivery, consumer), ...at(startTime) };
  const span = tracer.startSpan('process', options, trace.setSpanContext(ROOT_CONTEXT, producer));
  return span.isRecording() ? recordedTask(tracer, span, trace.setSpan(ROOT_CONTEXT, span)) : unsampledTask;
}

function recordedTask(tracer: Tracer, span: Span, context: Context): TaskTrace {
  return {
    sampled: true,
    span,
    child: (name, startTime, batch) =>
      tracer.startSpan(
        name,
        { ...at(startTime), ...(batch?.isRecording() ? { links: [linkTo(batch)] } : {}) },
        context,
      ),
    end: (error, endTime) => endSpan(span, error, endTime),
  };
}

function processAttributes(delivery: TracedDelivery, consumer: string) {
  const { name, version } = delivery.model.manifest;
  return {
    'messaging.system': 'redis',
    'messaging.operation.type': 'process',
    'messaging.operation.name': 'process',
    'messaging.destination.name': delivery.stream,
    'messaging.consumer.group.name': consumerGroup,
    'messaging.client.id': consumer,
    'messaging.message.id': delivery.taskId,
    'messaging.message.body.size': delivery.bytes,
    'sampan.model': name,
    'sampan.model_version': version,
    'sampan.queue_ms': delivery.queueMs,
  };
}

export interface BatchAbout {
  readonly model: string;
  readonly version: string;
  readonly device: string;
  /** Tasks in the batch, sampled or not. */
  readonly size: number;
  /** Why the batch was closed. */
  readonly closed: string;
}

/**
 * Starts the span of a batch. It serves many traces, so it is the root of its own and links the `process` span of every
 * sampled member; the sampler records a root that links a sampled span. Hand it to the members' `child('infer', …)`,
 * which link it back, and end it after them. Records nothing where no member is sampled.
 */
export function startBatchSpan(
  tracer: Tracer,
  members: readonly TaskTrace[],
  about: BatchAbout,
  startTime?: number,
): Span {
  const links = members.filter((member) => member.sampled).map((member) => linkTo(member.span));
  if (links.length === 0) return silentSpan;
  const attributes = {
    'sampan.model': about.model,
    'sampan.model_version': about.version,
    'sampan.device': about.device,
    'sampan.batch.closed': about.closed,
    'messaging.batch.message_count': about.size,
  };
  return tracer.startSpan('batch', { root: true, links, attributes, ...at(startTime) }, ROOT_CONTEXT);
}

/** Ends a span, as failed where there is an error; costs nothing where nothing is recorded. */
export function endSpan(span: Span, error?: unknown, endTime?: number): void {
  if (!span.isRecording()) return;
  if (error !== undefined) noteError(span, error);
  span.end(endTime);
}

/** A coded failure is a known case and told by its code alone; anything else brings its stack along. */
function noteError(span: Span, error: unknown): void {
  if (error instanceof Failure) {
    span.setAttribute('error.type', error.code).setStatus({ code: SpanStatusCode.ERROR, message: error.message });
    return;
  }
  const unforeseen = error instanceof Error ? error : new Error(String(error));
  span.setAttribute('error.type', unforeseen.name).recordException(unforeseen);
  span.setStatus({ code: SpanStatusCode.ERROR, message: unforeseen.message });
}

function linkTo(span: Span): Link {
  return { context: span.spanContext() };
}

function at(startTime: number | undefined): { startTime?: number } {
  return startTime === undefined ? {} : { startTime };
}

/** Reads the flag alone: most tasks are not sampled, and parsing them all would be for nothing. */
function saysSampled(traceparent: string): boolean {
  return '13579bdf'.includes(traceparent.charAt(54) || '-');
}
