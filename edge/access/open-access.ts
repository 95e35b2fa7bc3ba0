import { readApiKey } from '../../contracts/api-key.js';
import { endSpending, spend } from '../../contracts/scripts/spend.js';
import type { StreamClient } from '../../contracts/scripts/scripts.js';
import type { EdgeConfig } from '../config.js';
import type { Clock, EdgeDeps } from '../deps.js';
import { createAuthenticate } from './authenticate.js';
import { createKeyAuthority } from './key-authority.js';
import { createLimiter, noLimiter } from './limiter.js';
import { anonymous } from './principal.js';
import { createTokenAuthority, type TokenTrust } from './token-authority.js';

/** Who may, and how much: as configured. */
export function openAccess(
  config: EdgeConfig,
  client: StreamClient,
  clock: Clock,
): Pick<EdgeDeps, 'authenticate' | 'limiter'> {
  if (!config.auth) return { authenticate: anonymous, limiter: noLimiter };
  const keys = createKeyAuthority({ read: (id) => readApiKey(client, id), clock, now: Date.now });
  const trust = trustOf(config);
  return {
    authenticate: createAuthenticate(keys, trust && createTokenAuthority(trust)),
    limiter: createLimiter({
      ...{ tiers: config.tiers, clock, longestMs: config.maxTimeoutMs + uploadMs },
      spend: (spending) => spend(client, spending),
      endSpending: (account, requestId) => endSpending(client, account, requestId),
    }),
  };
}

/** Milliseconds that a body may take to arrive, beside the request's timeout. */
const uploadMs = 120_000;

function trustOf({ jwt: { issuer, audience, jwksUrl }, jwtSecret: secret }: EdgeConfig): TokenTrust | undefined {
  if (secret !== undefined) return { secret, issuer, audience };
  return jwksUrl === undefined ? undefined : { jwksUrl, issuer, audience };
}
