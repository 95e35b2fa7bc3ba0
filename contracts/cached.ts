import { Buffer } from 'node:buffer';

/** A cached value is the image's SHA-256 (32 bytes), when it expires (4 bytes), and the answer's bytes as they are sent. */
const sha256Length = 32;
const headLength = sha256Length + 4;

/**
 * The value to store for an answer, which may come in pieces.
 * @param expiresAt seconds since the epoch
 */
export function encodeCached(sha256: string, expiresAt: number, answer: readonly Uint8Array[]): Buffer {
  const head = Buffer.alloc(headLength);
  head.write(sha256, 'hex');
  head.writeUInt32BE(expiresAt, sha256Length);
  return Buffer.concat([head, ...answer]);
}

/**
 * The answer in a cached value, as a view.
 * @param sha256 the image's own; undefined skips the comparison (only where the operator trusts MD5 alone)
 * @returns undefined where the value belongs to other bytes of the same MD5, or is none of ours
 */
export function answerFor(cached: Buffer, sha256: string | undefined): Buffer | undefined {
  if (cached.length <= headLength) return undefined;
  if (sha256 !== undefined && cached.toString('hex', 0, sha256Length) !== sha256) return undefined;
  return cached.subarray(headLength);
}

/** When a cached value expires, in seconds since the epoch; of a value that holds an answer. */
export function expiryOf(cached: Buffer): number {
  return cached.readUInt32BE(sha256Length);
}

/** Seconds an answer is kept: 24 h, spread by ± 10 % so that answers written together do not expire together. */
export function cacheSeconds(seconds: number, random: () => number): number {
  return Math.max(1, Math.round(seconds * (0.9 + 0.2 * random())));
}
