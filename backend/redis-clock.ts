import type { Redis } from 'ioredis';

/** Redis's clock, read locally: hosts disagree about the time, and deadlines are kept in Redis's. */
export interface RedisClock {
  /** Milliseconds of Redis's clock. */
  now(): number;
  /** Measures the offset again; keeps the old one where Redis does not answer. */
  measure(): Promise<void>;
}

const longestRoundTripMs = 100;

/** @param localNow milliseconds of this host's clock */
export function createRedisClock(client: Redis, localNow: () => number): RedisClock {
  let offset: number | undefined;
  return {
    now: () => localNow() + (offset ?? 0),
    measure: async () => {
      const asked = localNow();
      const [seconds, micros] = await client.time();
      const answered = localNow();
      // A slow answer says little about the time at which it was made.
      if (offset !== undefined && answered - asked > longestRoundTripMs) return;
      offset = Number(seconds) * 1000 + Number(micros) / 1000 - (asked + answered) / 2;
    },
  };
}
