/** How much memory is taken, and how much may be, both in bytes; `at` in ms of a clock that only goes forward. */
export interface MemoryReading {
  readonly usedBytes: number;
  readonly limitBytes: number;
  readonly at: number;
}

/** Why there is no reading, for people. */
export interface NoReading {
  readonly reason: string;
}

/** Where readings come from. Reading costs next to nothing, and never throws. */
export interface MemorySource {
  readonly name: string;
  /** The newest reading. */
  read(): MemoryReading | NoReading;
  stop(): void;
}

/** Age in ms from which on a reading says nothing about now. */
export const staleAfterMs = 10_000;
