import { Failure } from '../contracts/failure.js';
import type { Predictions } from '../contracts/prediction.js';
import { failedResult, type Result } from '../contracts/result.js';
import type { LeaveReason } from '../contracts/scripts/leave.js';
import type { Delivery, Ready } from './delivery.js';
import type { Model, RawOutput } from './model/model.js';
import type { TaskSpec } from '../contracts/task.js';
import type { TaskTrace } from './telemetry.js';

/** The verdict on a delivery. */
export interface Outcome {
  readonly delivery: Delivery;
  /** Unknown where the task could not be read. */
  readonly spec: TaskSpec | undefined;
  readonly trace: TaskTrace;
  readonly reason: LeaveReason;
  readonly result: Result;
  readonly decodeMs: number;
  readonly inferMs: number;
  /** Bytes of resident memory that the run added; 0 for a task that was not run. */
  readonly memoryChange: number;
}

/** A finished run: one outcome per task, in order, and what the device took. */
export interface Executed {
  readonly outcomes: readonly Outcome[];
  readonly inferMs: number;
  /** Why the run as a whole failed. */
  readonly error?: unknown;
}

/**
 * Runs a batch. Never throws: a batch that fails gives every task its failure, a prediction that fails only its own.
 * @param now milliseconds, monotonic
 * @param memory resident bytes of this process
 */
export async function executeBatch(
  model: Model,
  batch: readonly Ready[],
  now: () => number,
  memory: () => number,
): Promise<Executed> {
  const startedAt = now();
  const memoryBefore = memory();
  const measure = (): Run => ({
    inferMs: now() - startedAt,
    memoryChange: memory() - memoryBefore,
    batchSize: batch.length,
  });
  try {
    const raw = await model.infer(batch.map((task) => task.decoded));
    const run = measure();
    return { inferMs: run.inferMs, outcomes: batch.map((task, i) => judge(model, task, raw[i], run)) };
  } catch (error) {
    const run = measure();
    const outcomes = batch.map((task) => failedOutcome(task, error, 'inference_failed', run));
    return { inferMs: run.inferMs, error, outcomes };
  }
}

/** What one run took. */
type Run = Pick<Outcome, 'inferMs' | 'memoryChange'> & { readonly batchSize: number };

function judge(model: Model, task: Ready, raw: RawOutput | undefined, run: Run): Outcome {
  try {
    if (!raw) throw new Failure('inference_failed', 'the run gave no output for this image');
    return succeeded(task, model.predict(raw, task.decoded, task.spec.params), run);
  } catch (error) {
    return failedOutcome(task, error, 'inference_failed', run);
  }
}

function succeeded(task: Ready, predictions: Predictions, { inferMs, memoryChange, batchSize }: Run): Outcome {
  const { delivery, spec, trace, decodeMs } = task;
  const timing = {
    queueMs: round(delivery.queueMs),
    decodeMs: round(decodeMs),
    inferMs: round(inferMs),
    batchSize,
  };
  const result: Result = {
    ...{ outcome: 'succeeded', version: spec.version, timing },
    predictions: Buffer.from(JSON.stringify(predictions)),
  };
  return { delivery, spec, trace, reason: 'succeeded', result, decodeMs, inferMs, memoryChange };
}

const notRun = { inferMs: 0, memoryChange: 0 };

/** The outcome of a task that failed before or in its run; an error without a code is told as `code`. */
export function failedOutcome(
  task: Pick<Ready, 'delivery' | 'trace'> & { readonly spec: TaskSpec | undefined; readonly decodeMs?: number },
  error: unknown,
  code: 'inference_failed' | 'image_unreadable' | 'task_unreadable' | 'deadline_exceeded',
  { inferMs, memoryChange }: Pick<Outcome, 'inferMs' | 'memoryChange'> = notRun,
): Outcome {
  const { delivery, spec, trace, decodeMs = 0 } = task;
  const result = failedResult(error, code, 'the model could not process this image');
  const reason = result.outcome === 'failed' && result.code === 'deadline_exceeded' ? 'expired' : 'failed';
  return { delivery, spec, trace, reason, result, decodeMs, inferMs, memoryChange };
}

function round(ms: number): number {
  return Math.round(ms * 100) / 100;
}
