import { totalmem } from 'node:os';
import { residentBytes } from '../resident-memory.js';
import type { MemorySource } from './memory-source.js';

export interface MemoryLimit {
  readonly bytes: number;
  /** Who set it. */
  readonly from: 'configuration' | 'container' | 'host';
}

export interface MemoryLimitOptions {
  /** What the operator allows one process. */
  readonly configuredBytes?: number | undefined;
  /** Processes that share what the container or the host has. */
  readonly processes?: number;
  readonly constrainedBytes?: number;
  readonly totalBytes?: number;
}

/** How much memory one process may take: what was configured, else its share of the container's or the host's. */
export function memoryLimit(options: MemoryLimitOptions = {}): MemoryLimit {
  const { configuredBytes, processes = 1 } = options;
  const { constrainedBytes = process.constrainedMemory(), totalBytes = totalmem() } = options;
  if (configuredBytes !== undefined) return { bytes: configuredBytes, from: 'configuration' };
  // Without a limit the system answers 0 or a number beyond all memory, each version its own.
  const constrained = constrainedBytes > 0 && constrainedBytes < totalBytes;
  const bytes = Math.floor((constrained ? constrainedBytes : totalBytes) / processes);
  return { bytes, from: constrained ? 'container' : 'host' };
}

/** Resident memory of this process against a limit: what a model on the CPU has to live in. */
export function processMemory({ limitBytes, now }: { limitBytes: number; now: () => number }): MemorySource {
  return {
    name: 'process',
    read: () => ({ usedBytes: residentBytes(), limitBytes, at: now() }),
    stop: () => undefined,
  };
}
