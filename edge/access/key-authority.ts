import { isSecretOf, type ApiKey, type PresentedKey } from '../../contracts/api-key.js';
import { Failure } from '../../contracts/failure.js';
import type { Clock } from '../deps.js';
import { within } from '../within.js';
import { principalOf, type Principal } from './principal.js';

export interface KeyAuthorityOptions {
  /** Reads what is stored of a key. */
  readonly read: (id: string) => Promise<ApiKey | undefined>;
  readonly clock: Clock;
  /** Milliseconds since the epoch, for expiry. */
  readonly now: () => number;
  /** Milliseconds for an answer of the store's. */
  readonly answerLimitMs: number;
}

/** Milliseconds for which a key is believed: a revocation is felt by then. */
const believedMs = 2000;
/** Milliseconds for which keys go on being believed while Redis is away. */
const believedLongestMs = 60_000;
/** Milliseconds for which the store is not asked about known keys after it did not answer. */
const restMs = 1000;
/** Ids that are remembered, unknown ones too: a guesser must not fill the memory. */
const mostRemembered = 10_000;

interface Remembered {
  readonly key: ApiKey | undefined;
  readonly readAt: number;
}

/**
 * Who holds an API key. Whatever is wrong with a key (unknown, revoked, another secret) is told in the same words.
 * @throws Failure credentials_invalid | credentials_expired | stream_unavailable
 */
export type KeyAuthority = (presented: PresentedKey) => Promise<Principal>;

/** Looks keys up, with a short memory. */
export function createKeyAuthority({ read, clock, now, answerLimitMs }: KeyAuthorityOptions): KeyAuthority {
  const remembered = new Map<string, Remembered>();
  const reading = new Map<string, Promise<ApiKey | undefined>>();
  let askAgainAt = -Infinity;

  const remember = (id: string, key: ApiKey | undefined, readAt: number) => {
    remembered.delete(id);
    remembered.set(id, { key, readAt });
    const [oldest] = remembered.keys();
    if (remembered.size > mostRemembered && oldest !== undefined) remembered.delete(oldest);
    return key;
  };
  /** Those who ask for one key at a time share one read. */
  const readOnce = (id: string) => {
    const underWay = reading.get(id);
    if (underWay) return underWay;
    const started = read(id).finally(() => reading.delete(id));
    // Whoever waits for it may have given up.
    started.catch(() => undefined);
    reading.set(id, started);
    return started;
  };
  const find = async (id: string): Promise<ApiKey | undefined> => {
    const known = remembered.get(id);
    const askedAt = clock.now();
    if (known && askedAt - known.readAt < believedMs) return known.key;
    // While the store does not answer, a key that is known does not wait for it each time.
    if (known && askedAt < askAgainAt && askedAt - known.readAt < believedLongestMs) return known.key;
    try {
      return remember(id, await within(answerLimitMs, readOnce(id)), askedAt);
    } catch (error) {
      askAgainAt = clock.now() + restMs;
      if (known && clock.now() - known.readAt < believedLongestMs) return known.key;
      throw new Failure('stream_unavailable', 'keys cannot be looked up', { cause: error, retryAfter: 1 });
    }
  };

  return async ({ id, secret }) => {
    const key = await find(id);
    // An unknown key costs the comparison too.
    const holds = isSecretOf(key ?? noKey, secret);
    if (!key || !holds) throw new Failure('credentials_invalid', 'the key is not known here, or no longer');
    if (key.expiresAt !== undefined && key.expiresAt <= now()) {
      throw new Failure('credentials_expired', `the key expired at ${new Date(key.expiresAt).toISOString()}`);
    }
    return principalOf(key.grant, `key:${id}`);
  };
}

const noKey: ApiKey = {
  ...{ v: 1, secretHash: '0'.repeat(64), label: '', createdAt: 0 },
  grant: { tenant: 'nobody', tier: 'none', permissions: ['predict'] },
};
