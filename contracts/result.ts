import type { Buffer } from 'node:buffer';
import * as z from 'zod';
import { Failure, isFailureCode, type FailureCode } from './failure.js';
import { joinFrame, splitFrame } from './framing.js';

/** Where the time of a task went, in milliseconds. */
export const timingSchema = z.strictObject({
  /** From the enqueue until a consumer had it. */
  queueMs: z.number(),
  /** The decoding of the image. */
  decodeMs: z.number(),
  /** Decoded, until its batch was run: the device was busy, or the batch waited for company. */
  batchWaitMs: z.number(),
  /** The run of its batch. */
  inferMs: z.number(),
  batchSize: z.int(),
});
export type Timing = z.infer<typeof timingSchema>;

const resultHeadSchema = z.discriminatedUnion('outcome', [
  z.strictObject({ v: z.literal(1), outcome: z.literal('succeeded'), version: z.string(), timing: timingSchema }),
  z.strictObject({
    v: z.literal(1),
    outcome: z.literal('failed'),
    code: z.custom<FailureCode>(isFailureCode, 'a code of the failure table'),
    detail: z.string(),
  }),
]);

export interface Succeeded {
  readonly outcome: 'succeeded';
  readonly version: string;
  readonly timing: Timing;
  readonly predictions: Uint8Array;
}

/** What a task's waiters get; `predictions` is JSON as it will stand in the answer, never parsed on the way. */
export type Result = Succeeded | { readonly outcome: 'failed'; readonly code: FailureCode; readonly detail: string };

const noBody: readonly Uint8Array[] = [];

/** A result as the bytes that are stored and published. */
export function encodeResult(result: Result): Buffer {
  if (result.outcome === 'failed') {
    return joinFrame({ v: 1, outcome: result.outcome, code: result.code, detail: result.detail }, noBody);
  }
  const { outcome, version, timing, predictions } = result;
  return joinFrame({ v: 1, outcome, version, timing }, [predictions]);
}

/** Reads what encodeResult wrote; bytes in any other form are the failure task_unreadable, never a throw. */
export function decodeResult(bytes: Buffer): Result {
  const frame = splitFrame(bytes);
  const head = frame && resultHeadSchema.safeParse(frame.head);
  if (!frame || !head?.success) return unreadableResult;
  if (head.data.outcome === 'failed') return head.data;
  const { outcome, version, timing } = head.data;
  return { outcome, version, timing, predictions: frame.body };
}

const unreadableResult: Result = {
  outcome: 'failed',
  code: 'task_unreadable',
  detail: 'the stored result is in a form that this version does not read',
};

/** The result that a failure amounts to; anything uncoded is told as `code` without its inner words. */
export function failedResult(error: unknown, code: FailureCode, detail: string): Result {
  return error instanceof Failure
    ? { outcome: 'failed', code: error.code, detail: error.detail }
    : { outcome: 'failed', code, detail };
}
