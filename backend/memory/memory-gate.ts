import { staleAfterMs, type MemoryReading, type NoReading } from './memory-source.js';

export interface MemoryGateSettings {
  /** Fraction of the head-room from which on nothing more is read. */
  readonly pauseAt?: number;
  /** Fraction down to which it has to fall before reading goes on. */
  readonly resumeAt?: number;
  /** Milliseconds without any held task after which a level that stays high counts as stuck. */
  readonly stuckMs?: number;
}

/** What is known of the memory. `stuck` is paused, and will not get better by waiting. */
export type MemoryLevel =
  | { readonly state: 'unknown'; readonly reason: string }
  | {
      readonly state: 'open' | 'paused' | 'stuck';
      readonly usedBytes: number;
      readonly limitBytes: number;
      /** Of the head-room that was left after warm-up, 0 to 1 and more. */
      readonly fraction: number;
    };

export interface MemoryGate {
  /** Tells what is taken once everything has been loaded and run. */
  warmedUp(reading: MemoryReading): void;
  /** Judges a reading. Without one, or with one that is stale, reading never pauses. */
  take(reading: MemoryReading | NoReading, held: number, now: number): MemoryLevel;
}

/**
 * Decides whether memory allows more to be read. It looks at the head-room that was left after warm-up, since a
 * runtime's arena keeps what it took.
 * @throws RangeError unless 0 < resumeAt < pauseAt ≤ 1
 */
export function createMemoryGate(settings: MemoryGateSettings = {}): MemoryGate {
  const { pauseAt = 0.9, resumeAt = 0.8, stuckMs = 30_000 } = settings;
  if (!(resumeAt > 0 && resumeAt < pauseAt && pauseAt <= 1)) {
    throw new RangeError(`memory must resume below its pause: 0 < ${resumeAt} < ${pauseAt} ≤ 1 does not hold`);
  }
  let baseBytes: number | undefined;
  let paused = false;
  let idleSince: number | undefined;
  const unknown = (reason: string): MemoryLevel => {
    paused = false;
    idleSince = undefined;
    return { state: 'unknown', reason };
  };
  return {
    warmedUp: (reading) => {
      baseBytes = reading.usedBytes;
    },
    take: (reading, held, now) => {
      if ('reason' in reading) return unknown(reading.reason);
      if (baseBytes === undefined) return unknown('the level after warm-up is not known yet');
      const ageMs = now - reading.at;
      if (ageMs > staleAfterMs) return unknown(`the last reading is ${Math.round(ageMs / 1000)} s old`);
      const { usedBytes, limitBytes } = reading;
      const fraction = takenOfHeadroom(usedBytes, limitBytes, baseBytes);
      paused = paused ? fraction > resumeAt : fraction >= pauseAt;
      // What is held may still give memory back; only an idle process has nothing left to hope for.
      if (paused && held === 0) idleSince ??= now;
      else idleSince = undefined;
      const stuck = idleSince !== undefined && now - idleSince >= stuckMs;
      return { state: stuck ? 'stuck' : paused ? 'paused' : 'open', usedBytes, limitBytes, fraction };
    },
  };
}

/** Without any head-room everything counts as taken: a limit below the level after warm-up cannot be kept. */
function takenOfHeadroom(usedBytes: number, limitBytes: number, baseBytes: number): number {
  if (limitBytes <= baseBytes) return 1;
  return Math.max(0, usedBytes - baseBytes) / (limitBytes - baseBytes);
}
