import { batchLimitFor, type BatchLimit } from '../contracts/model.js';
import { createBatchCeiling, type BatchCeiling } from './batch-ceiling.js';
import { roomFor, type ReadyQueue } from './batcher.js';
import type { Ready } from './delivery.js';
import type { Outcome } from './executor.js';
import { createHealth, type Health } from './health.js';
import type { Model } from './model/model.js';
import { createSignal, type Signal } from './signal.js';

/** What a consumer holds of one model: from delivery until the run that ends it. */
export interface Holding {
  readonly model: Model;
  readonly limit: BatchLimit;
  readonly ceiling: BatchCeiling;
  readonly health: Health;
  /** Delivered, not yet decoded. */
  preparing: number;
  /** Decoded, waiting for the device; oldest first. */
  readonly ready: Ready[];
  /** The same of what was claimed: each of these runs alone. */
  readonly solos: Ready[];
  /** Claimed and not yet ended; while there are any, nothing new is read beside what may end this process. */
  claimed: number;
  /** On the device. */
  running: number;
  /** Images that were run and judged since the start. */
  ran: number;
  /** Ended and not yet settled. */
  readonly ended: Outcome[];
  /** Resolves when all that has ended is settled; undefined while nothing is being settled. */
  settling: Promise<void> | undefined;
  /** What the device took for the last batch, in milliseconds. */
  lastInferMs: number;
  /** Since when a read has been under way, in milliseconds, monotonic; undefined while none is. */
  readingSince: number | undefined;
  /** Whether a read found less than there was room for, since this was last looked at. */
  ranDry: boolean;
  /** Notified when there may be room for another delivery, or reading may go on. */
  readonly roomChanged: Signal;
}

export function createHolding(model: Model): Holding {
  const limit = batchLimitFor(model.manifest, model.device);
  return {
    model,
    limit,
    ceiling: createBatchCeiling(limit.max),
    health: createHealth(),
    preparing: 0,
    ready: [],
    solos: [],
    claimed: 0,
    running: 0,
    ran: 0,
    ended: [],
    settling: undefined,
    lastInferMs: 0,
    readingSince: undefined,
    ranDry: true,
    roomChanged: createSignal(),
  };
}

/** How many more entries may be taken for the model. */
export function room({ limit, preparing, ready, solos, running }: Holding): number {
  return roomFor(limit, preparing + ready.length + solos.length + running);
}

/** The holding as the batcher sees it: what runs together, and what runs alone. Of a sick model nothing runs. */
export function readyQueues({ model, limit, ceiling, health, ready, solos }: Holding): readonly ReadyQueue[] {
  if (health.sick) return [];
  const { name } = model.manifest;
  const max = Math.min(limit.max, ceiling.now);
  return [
    {
      model: name,
      solo: false,
      ready: ready.length,
      oldestReadyAt: ready[0]?.readyAt ?? 0,
      limit: { ...limit, max },
    },
    { model: name, solo: true, ready: solos.length, oldestReadyAt: solos[0]?.readyAt ?? 0, limit: alone },
  ];
}

const alone: BatchLimit = { max: 1, maxWaitMs: 0 };
