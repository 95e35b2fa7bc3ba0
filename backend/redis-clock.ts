import type { Redis } from 'ioredis';

/** Redis's clock, read locally: hosts disagree about the time, and deadlines are kept in Redis's. */
export interface RedisClock {
  /** Milliseconds of Redis's clock. */
  now(): number;
  /** Measures the offset again; keeps the old one where Redis does not answer. */
  measure(): Promise<void>;
}

/** @param localNow milliseconds of this host's clock */
export function createRedisClock(client: Redis, localNow: () => number): RedisClock {
  let offset = 0;
  return {
    now: () => localNow() + offset,
    measure: async () => {
      const asked = localNow();
      const [seconds, micros] = await client.time();
      const answered = localNow();
      offset = Number(seconds) * 1000 + Number(micros) / 1000 - (asked + answered) / 2;
    },
  };
}
