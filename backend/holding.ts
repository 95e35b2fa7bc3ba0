import { batchLimitFor, type BatchLimit } from '../contracts/model.js';
import { roomFor, type ReadyQueue } from './batcher.js';
import type { Ready } from './delivery.js';
import type { Outcome } from './executor.js';
import type { Model } from './model/model.js';
import { createSignal, type Signal } from './signal.js';

/** What a consumer holds of one model: from delivery until the run that ends it. */
export interface Holding {
  readonly model: Model;
  readonly limit: BatchLimit;
  /** Delivered, not yet decoded. */
  preparing: number;
  /** Decoded, waiting for the device; oldest first. */
  readonly ready: Ready[];
  /** On the device. */
  running: number;
  /** Ended and not yet settled. */
  readonly ended: Outcome[];
  /** Resolves when all that has ended is settled; undefined while nothing is being settled. */
  settling: Promise<void> | undefined;
  /** What the device took for the last batch, in milliseconds. */
  lastInferMs: number;
  /** Notified when there may be room for another delivery. */
  readonly roomChanged: Signal;
}

export function createHolding(model: Model): Holding {
  const limit = batchLimitFor(model.manifest, model.device);
  return {
    model,
    limit,
    preparing: 0,
    ready: [],
    running: 0,
    ended: [],
    settling: undefined,
    lastInferMs: 0,
    roomChanged: createSignal(),
  };
}

/** How many more entries may be read for the model. */
export function room(holding: Holding): number {
  return roomFor(holding.limit, holding.preparing + holding.ready.length + holding.running);
}

/** The holding as the batcher sees it. */
export function readyQueue(holding: Holding): ReadyQueue {
  const { model, limit, ready } = holding;
  return { model: model.manifest.name, ready: ready.length, oldestReadyAt: ready[0]?.readyAt ?? 0, limit };
}
