import { readApiKey } from '../../contracts/api-key.js';
import { endSpending, spend } from '../../contracts/scripts/spend.js';
import type { StreamClient } from '../../contracts/scripts/scripts.js';
import type { EdgeConfig } from '../config.js';
import type { EdgeDeps } from '../deps.js';
import { createAuthenticate } from './authenticate.js';
import { createKeyAuthority } from './key-authority.js';
import { createLimiter, noLimiter } from './limiter.js';
import { anonymous } from './principal.js';
import { createTokenAuthority, type TokenTrust } from './token-authority.js';

/**
 * Who may, and how much: as configured.
 * @param client undefined where everybody is let in; else a connection that does nothing else: pictures on their way
 * must not hold up who asks
 */
export function openAccess(
  config: EdgeConfig,
  client: StreamClient | undefined,
  { clock, metrics }: Pick<EdgeDeps, 'clock' | 'metrics'>,
): Pick<EdgeDeps, 'authenticate' | 'limiter'> {
  if (!client) return { authenticate: anonymous, limiter: noLimiter };
  const keys = createKeyAuthority({
    ...{ clock, now: Date.now, answerLimitMs: config.limitsTimeoutMs },
    read: (id) => readApiKey(client, id),
  });
  const trust = trustOf(config);
  return {
    authenticate: createAuthenticate(keys, trust && createTokenAuthority(trust, clock)),
    limiter: createLimiter({
      ...{ tiers: config.tiers, clock, longestMs: 3 * config.maxTimeoutMs + uploadMs },
      answerLimitMs: config.limitsTimeoutMs,
      onLocal: () => metrics.limitedLocally.add(1),
      spend: (spending) => spend(client, spending),
      endSpending: (account, requestId) => endSpending(client, account, requestId),
    }),
  };
}

/** Milliseconds that a body, or a picture of a batch, may take to arrive; it may then wait for its turn by the rate, for room, and for its result. */
const uploadMs = 120_000;

function trustOf({ jwt: { issuer, audience, jwksUrl }, jwtSecret: secret }: EdgeConfig): TokenTrust | undefined {
  if (secret !== undefined) return { secret, issuer, audience };
  return jwksUrl === undefined ? undefined : { jwksUrl, issuer, audience };
}
