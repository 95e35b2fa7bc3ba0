import { readFileSync } from 'node:fs';
import type { Part } from './part.js';
import { times } from './times.js';

/** How a part's resident memory went over a run. */
export interface MemoryCourse {
  readonly part: string;
  /**
   * High water of the first half, by its higher quarter, and of the last quarter, in MiB. A heap that was cleared in the
   * second quarter may rise again to where it was in the first; what leaks rises beyond.
   */
  readonly firstHalf: number;
  readonly lastQuarter: number;
  /** High water of each eighth of the run. */
  readonly eighths: readonly number[];
  readonly samples: number;
}

/** Takes samples of each part's resident memory until told to stop. */
export function watchMemory(parts: readonly Part[]): { stop(): MemoryCourse[] } {
  const samples = parts.map((): number[] => []);
  const timer = setInterval(() => {
    for (const [i, part] of parts.entries()) samples[i]?.push(...residentMiB(part.now.pid));
  }, times.memoryEveryMs);
  return {
    stop: () => {
      clearInterval(timer);
      return parts.map(({ name }, i) => courseOf(name, samples[i] ?? []));
    },
  };
}

/** @param samples resident memory in MiB, in order */
export function courseOf(part: string, samples: readonly number[]): MemoryCourse {
  const highWaterOf = (number: number, parts: number) => {
    const at = (n: number) => Math.floor((samples.length * n) / parts);
    return highWater(samples.slice(at(number), at(number + 1)));
  };
  return {
    ...{ part, samples: samples.length },
    ...{ firstHalf: Math.max(highWaterOf(0, 4), highWaterOf(1, 4)), lastQuarter: highWaterOf(3, 4) },
    eighths: Array.from({ length: 8 }, (_, eighth) => highWaterOf(eighth, 8)),
  };
}

/** Nothing where the process has just ended; the verdict learns of that elsewhere. */
function residentMiB(pid: number): number[] {
  try {
    const kiB = /^VmRSS:\s+(\d+) kB/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1];
    return kiB === undefined ? [] : [Number(kiB) / 1024];
  } catch {
    return [];
  }
}

/**
 * What nine of ten samples do not exceed. A heap rises and is cleared, over half a minute or so: its middle depends on
 * where in that a quarter happens to end, its height does not.
 */
function highWater(values: readonly number[]): number {
  return [...values].sort((a, b) => a - b)[Math.floor(values.length * 0.9)] ?? Number.NaN;
}
