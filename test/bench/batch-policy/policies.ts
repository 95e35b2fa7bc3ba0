import { nextBatch } from '../../../backend/batcher.js';
import type { Policy } from './simulation.js';

/** The product's own decision, for one model that asks for no company. */
export const ours: Policy = ({ ready, oldestReadyAt }, now, { maxBatch }) =>
  nextBatch([{ model: 'bench', solo: false, ready, oldestReadyAt, limit: { max: maxBatch, maxWaitMs: 0 } }], now);

/**
 * The rule of most batching servers: a batch closes when it is full, or so long after its first task came. At its best:
 * time spent waiting for a busy device counts, and whoever came meanwhile goes along.
 */
export function fixedWindow(windowMs: number): Policy {
  return ({ ready, oldestReadyAt }, now, { maxBatch }) => {
    const leftMs = oldestReadyAt + windowMs - now;
    if (ready >= maxBatch || leftMs <= 0) return { run: true, count: Math.min(ready, maxBatch) };
    return { run: false, lookAgainMs: leftMs };
  };
}
