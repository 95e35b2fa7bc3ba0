import { cellRate } from '../../contracts/scripts/spend.js';
import type { Limits } from '../../contracts/grant.js';

/** What a bucket remembers: when all of its burst will be there again, in microseconds. */
export type Bucket = number;

/**
 * The generic cell rate algorithm as spend.lua has it, for an edge that cannot ask Redis.
 * @param now in microseconds
 * @returns the bucket afterwards, or in how many milliseconds the price can be paid
 */
export function payFrom(
  bucket: Bucket,
  limits: Limits,
  price: number,
  now: number,
): { readonly bucket: Bucket } | { readonly againInMs: number } {
  const { interval, burst } = cellRate(limits);
  const full = Math.max(bucket, now) + price * interval;
  const early = full - burst * interval - now;
  return interval > 0 && early > 0 ? { againInMs: Math.ceil(early / 1000) } : { bucket: full };
}
