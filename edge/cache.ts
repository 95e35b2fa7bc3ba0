import type { Buffer } from 'node:buffer';
import { answerFor, expiryOf } from '../contracts/cached.js';
import { cacheKey } from '../contracts/keys.js';
import type { Clock } from './deps.js';
import type { EdgeMetrics } from './metrics.js';
import { gatherReads } from './gather-reads.js';

/** Answers that were given before. Best effort: it never throws, and what it cannot tell in time is a miss. */
export interface Cache {
  /**
   * The stored answer for a piece of work, as it was sent.
   * @param sha256 the image's own, which must agree; undefined only where the operator trusts MD5 alone
   * @param model a name of the catalogue: it becomes a label
   */
  find(work: string, sha256: string | undefined, model: string): Promise<Found | undefined>;
}

export interface Found {
  readonly answer: Buffer;
  /** Seconds since the epoch. */
  readonly expiresAt: number;
}

/** The one command that is needed of a Redis client. */
export interface CacheReader {
  mgetBuffer(keys: string[]): Promise<(Buffer | null)[]>;
}

export interface CacheOptions {
  readonly reader: CacheReader;
  /** Milliseconds after which a lookup counts as a miss. */
  readonly timeoutMs: number;
  /** Runs a function when the requests that have already arrived have been looked at. */
  readonly nextTurn: (send: () => void) => unknown;
  readonly clock: Clock;
  readonly metrics: EdgeMetrics;
}

/**
 * After a failure the cache is left alone, twice as long each time: a short stall costs few hits, and a dead cache costs
 * a timeout now and then only.
 */
const firstRestMs = 100;
const longestRestMs = 1600;

/** Reads the cache that the backend writes. */
export function createCache({ reader, timeoutMs, nextTurn, clock, metrics }: CacheOptions): Cache {
  const read = gatherReads({ read: (keys) => reader.mgetBuffer(keys), timeoutMs, nextTurn });
  let askAgainAt = -Infinity;
  let restMs = firstRestMs;
  return {
    find: async (work, sha256, model) => {
      const now = clock.now();
      if (now < askAgainAt) {
        count(metrics, model, 'unavailable');
        return undefined;
      }
      // While a cache that failed is tried again, by one lookup, the others still pass it by.
      const isTrial = askAgainAt !== -Infinity;
      if (isTrial) askAgainAt = now + restMs;
      try {
        const stored = await read(cacheKey(work));
        askAgainAt = -Infinity;
        restMs = firstRestMs;
        const answer = stored ? answerFor(stored, sha256) : undefined;
        count(metrics, model, answer ? 'hit' : 'miss');
        return stored && answer ? { answer, expiresAt: expiryOf(stored) } : undefined;
      } catch {
        // Of many lookups that fail together, the first one says how long.
        if (isTrial || askAgainAt === -Infinity) {
          askAgainAt = clock.now() + restMs;
          restMs = Math.min(longestRestMs, restMs * 2);
        }
        count(metrics, model, 'unavailable');
        return undefined;
      }
    },
  };
}

/** A cache that is switched off: it asks nobody and counts nothing. */
export const noCache: Cache = { find: () => Promise.resolve(undefined) };

function count(metrics: EdgeMetrics, model: string, found: 'hit' | 'miss' | 'unavailable'): void {
  metrics.cacheLookups.add(1, { model, found });
}
