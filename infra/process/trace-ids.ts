import { randomFillSync } from 'node:crypto';

const pool = Buffer.alloc(24 * 256);
let used = pool.length;

/** Ids come from one pool of random bytes: a call for each costs several times as much. */
function randomHex(bytes: number): string {
  if (used + bytes > pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  used += bytes;
  return pool.toString('hex', used - bytes, used);
}

export const newTraceId = (): string => randomHex(16);
export const newSpanId = (): string => randomHex(8);
