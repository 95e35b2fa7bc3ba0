import type { BatchLimit } from '../contracts/model.js';

/** Why a batch was closed. */
export type Closed = 'full' | 'device_free' | 'max_wait' | 'solo';

/** One model's tasks that are ready for the device. */
export interface ReadyQueue {
  readonly model: string;
  /** Whether each of these runs alone. */
  readonly solo: boolean;
  readonly ready: number;
  /** When the oldest of them became ready, in milliseconds of the clock that `now` is of. */
  readonly oldestReadyAt: number;
  readonly limit: BatchLimit;
}

export type BatchDecision =
  | {
      readonly run: true;
      readonly model: string;
      readonly solo: boolean;
      readonly count: number;
      readonly closed: Closed;
    }
  /** Nothing may run yet; look again after so many milliseconds, or when something becomes ready. */
  | { readonly run: false; readonly lookAgainMs: number | undefined };

/**
 * What a free device runs next. Work never waits for company unless its model asks for that (`maxWaitMs`): while the
 * device was busy, company came by itself. Of the models that may run, the one whose task has waited longest is taken.
 */
export function nextBatch(queues: Iterable<ReadyQueue>, now: number): BatchDecision {
  let chosen: ReadyQueue | undefined;
  let lookAgainMs: number | undefined;
  for (const queue of queues) {
    if (queue.ready === 0) continue;
    const waitMs = remainingWaitMs(queue, now);
    if (waitMs > 0) {
      lookAgainMs = Math.min(lookAgainMs ?? waitMs, waitMs);
    } else if (!chosen || queue.oldestReadyAt < chosen.oldestReadyAt) {
      chosen = queue;
    }
  }
  if (!chosen) return { run: false, lookAgainMs };
  const count = Math.min(chosen.ready, chosen.limit.max);
  return { run: true, model: chosen.model, solo: chosen.solo, count, closed: whyClosed(chosen) };
}

function remainingWaitMs(queue: ReadyQueue, now: number): number {
  if (queue.ready >= queue.limit.max) return 0;
  return Math.max(0, queue.oldestReadyAt + queue.limit.maxWaitMs - now);
}

function whyClosed(queue: ReadyQueue): Closed {
  if (queue.solo) return 'solo';
  if (queue.ready >= queue.limit.max) return 'full';
  return queue.limit.maxWaitMs > 0 ? 'max_wait' : 'device_free';
}

/**
 * How many more entries a model may take from its stream: one batch for the device and one in preparation, so that
 * the device never waits for a read, and other consumers find the rest still in the stream.
 * @param held tasks of the model that are held and not yet inferred
 */
export function roomFor(limit: BatchLimit, held: number): number {
  return Math.max(0, 2 * limit.max - held);
}

/** Splits items, in order, into groups that together fit the budget; one that is larger goes alone. */
export function splitByBytes<T>(items: readonly T[], bytesOf: (item: T) => number, budget: number): T[][] {
  const groups: T[][] = [];
  let group: T[] = [];
  let total = 0;
  for (const item of items) {
    const bytes = bytesOf(item);
    if (group.length > 0 && total + bytes > budget) {
      groups.push(group);
      group = [];
      total = 0;
    }
    group.push(item);
    total += bytes;
  }
  if (group.length > 0) groups.push(group);
  return groups;
}
