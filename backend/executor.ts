import type { DeadLetter } from '../contracts/dead-letter.js';
import { Failure } from '../contracts/failure.js';
import type { Predictions } from '../contracts/prediction.js';
import { failedResult, type Result } from '../contracts/result.js';
import type { LeaveReason } from '../contracts/scripts/leave.js';
import type { TaskSpec } from '../contracts/task.js';
import type { Delivery, Ready } from './delivery.js';
import { faultOf } from './fault.js';
import type { Model, RawOutput } from './model/model.js';
import { withinRunLimit } from './run-limit.js';
import type { TaskTrace } from './telemetry.js';

/** The verdict on a delivery. */
export interface Outcome {
  readonly delivery: Delivery;
  /** Unknown where the task could not be read. */
  readonly spec: TaskSpec | undefined;
  readonly trace: TaskTrace;
  readonly reason: LeaveReason;
  readonly result: Result;
  /** Of a task that is dead. */
  readonly deadLetter?: DeadLetter;
  readonly decodeMs: number;
  readonly inferMs: number;
  /** Bytes of resident memory that the run added; 0 for a task that was not run. */
  readonly memoryChange: number;
}

/** What became of a batch. */
export interface Executed {
  /** One per task, in order; where the device is lost, of those that were judged before. */
  readonly outcomes: readonly Outcome[];
  /** Milliseconds of all its runs together. */
  readonly inferMs: number;
  /** Why a run failed, the first one that did. */
  readonly error?: unknown;
  /** The size that was tried next where the device had too little memory for more. */
  readonly fits?: number;
  /** Why the device is lost; what has no outcome stays pending. */
  readonly lost?: Error;
}

/** What executing needs of its surroundings. */
export interface Gauges {
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  /** Resident bytes of this process. */
  readonly memory: () => number;
}

/**
 * Runs a batch. Never throws. What follows from a failed run depends on whose fault it is: where the device's memory was
 * short, the halves are run one after the other; where it is the model's, the images are run one by one, so that only the
 * guilty one fails; where the device is lost, nothing more is run.
 */
export async function executeBatch(model: Model, batch: readonly Ready[], gauges: Gauges): Promise<Executed> {
  const outcomes: Outcome[] = [];
  let inferMs = 0;
  const troubles: { error?: unknown; fits?: number; lost?: Error } = {};

  const runParts = async (parts: readonly (readonly Ready[])[]) => {
    for (const part of parts) if (troubles.lost === undefined) await run(part);
  };
  const run = async (part: readonly Ready[]): Promise<void> => {
    const ran = await runOnce(model, part, gauges);
    inferMs += ran.cost.inferMs;
    if (ran.ok) {
      holdOn(part);
      outcomes.push(...part.map((task, i) => judge(model, task, ran.raw[i], ran.cost)));
      return;
    }
    troubles.error ??= ran.error;
    const fault = faultOf(ran.error);
    // What is still held goes on being held, until its turn comes or it is settled; not where a run goes on for ever.
    if (fault !== 'device') holdOn(part);
    if (fault === 'device') {
      troubles.lost = ran.error instanceof Error ? ran.error : new Error('the device is lost');
    } else if (part.length === 1) {
      outcomes.push(...part.map((task) => failedOutcome(task, ran.error, 'inference_failed', ran.cost)));
    } else if (fault === 'device_memory') {
      const half = Math.ceil(part.length / 2);
      troubles.fits = Math.min(half, troubles.fits ?? half);
      await runParts([part.slice(0, half), part.slice(half)]);
    } else {
      await runParts(part.map((task) => [task]));
    }
  };

  await run(batch);
  return { outcomes, inferMs, ...troubles };
}

function holdOn(part: readonly Ready[]): void {
  for (const { delivery } of part) delivery.lease.renewUntil = Infinity;
}

/** What one run took. */
type Cost = Pick<Outcome, 'inferMs' | 'memoryChange'> & { readonly batchSize: number; readonly startedAt: number };

type Ran = { readonly cost: Cost } & (
  { readonly ok: true; readonly raw: readonly RawOutput[] } | { readonly ok: false; readonly error: unknown }
);

async function runOnce(model: Model, part: readonly Ready[], { now, memory }: Gauges): Promise<Ran> {
  const startedAt = now();
  const memoryBefore = memory();
  const cost = (): Cost => ({
    inferMs: now() - startedAt,
    memoryChange: memory() - memoryBefore,
    batchSize: part.length,
    startedAt,
  });
  const images = part.map((task) => task.decoded);
  for (const { delivery } of part) delivery.lease.renewUntil = startedAt + model.manifest.runLimitMs;
  try {
    const raw = await withinRunLimit(model, part.length, () => model.infer(images));
    return { ok: true, raw, cost: cost() };
  } catch (error) {
    return { ok: false, error, cost: cost() };
  }
}

function judge(model: Model, task: Ready, raw: RawOutput | undefined, cost: Cost): Outcome {
  try {
    if (!raw) throw new Failure('inference_failed', 'the run gave no output for this image');
    return succeeded(task, model.predict(raw, task.decoded, task.spec.params), cost);
  } catch (error) {
    return failedOutcome(task, error, 'inference_failed', cost);
  }
}

function succeeded(task: Ready, predictions: Predictions, cost: Cost): Outcome {
  const { delivery, spec, trace, decodeMs, readyAt } = task;
  const { inferMs, memoryChange, batchSize, startedAt } = cost;
  const timing = {
    queueMs: round(delivery.queueMs),
    decodeMs: round(decodeMs),
    batchWaitMs: round(Math.max(0, startedAt - readyAt)),
    inferMs: round(inferMs),
    batchSize,
  };
  const bytes = Buffer.from(JSON.stringify(predictions));
  const result: Result = { outcome: 'succeeded', version: spec.version, timing, predictions: bytes };
  return { delivery, spec, trace, reason: 'succeeded', result, decodeMs, inferMs, memoryChange };
}

const notRun = { inferMs: 0, memoryChange: 0 };

/** The outcome of a task that failed before or in its run; an error without a code is told as `code`. */
export function failedOutcome(
  task: Pick<Ready, 'delivery' | 'trace'> & { readonly spec: TaskSpec | undefined; readonly decodeMs?: number },
  error: unknown,
  code: 'inference_failed' | 'image_unreadable' | 'task_unreadable' | 'deadline_exceeded' | 'task_dead',
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
