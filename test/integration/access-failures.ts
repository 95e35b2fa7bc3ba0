import assert from 'node:assert/strict';
import type { Redis } from 'ioredis';
import type { Latch } from '../../backend/model/latch.js';
import { createApiKey } from '../../contracts/api-key.js';
import type { Grant } from '../../contracts/grant.js';
import { picture } from '../pictures.js';
import type { System } from './system.js';

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** What the failures of access need of the system whose failures are reached. */
export interface AccessSurroundings {
  readonly stream: Redis;
  /** Holds the model `latched`. */
  readonly latch: Latch;
  readonly edge: System['edge'];
  /** URL of an edge that wants keys. */
  readonly guarded: () => string;
  readonly ask: (path: string, init: RequestInit, base: string) => Promise<Answer>;
  readonly predict: (
    model: string,
    body: Uint8Array<ArrayBuffer>,
    headers: Record<string, string>,
    base: string,
  ) => Promise<Answer>;
}

interface WantedKey {
  readonly grant?: Partial<Grant>;
  readonly expiresAt?: number;
}

/** How the failures of who may, and how much, come about. */
export function accessFailures({ stream, latch, edge, guarded, ask, predict }: AccessSurroundings) {
  const keyOf = ({ grant, expiresAt }: WantedKey) =>
    createApiKey(stream, {
      grant: { tenant: 'acme', tier: 'free', permissions: ['predict'], ...grant },
      ...{ label: '', expiresAt },
    });

  const withKey = async (wanted: WantedKey) =>
    predict('plain', picture('p'), { 'x-api-key': await keyOf(wanted) }, guarded());

  /** The answer to the second of two requests by one key. */
  const secondOf = async (grant: Partial<Grant>) => {
    const headers = { 'x-api-key': await keyOf({ grant }) };
    assert.equal((await predict('plain', picture('p'), headers, guarded())).status, 200);
    return predict('plain', picture('p'), headers, guarded());
  };

  return {
    credentials_missing: () => ask('/v1/models', {}, guarded()),
    credentials_invalid: () => ask('/v1/models', { headers: { 'x-api-key': 'sampan_0000' } }, guarded()),
    credentials_expired: () => withKey({ expiresAt: Date.now() - 1 }),
    permission_missing: () => withKey({ grant: { permissions: ['ops'] } }),
    model_not_allowed: () => withKey({ grant: { models: ['aged'] } }),
    rate_limited: () => secondOf({ limits: { perSecond: 0.01, burst: 1 } }),
    quota_exhausted: () => secondOf({ limits: { perDay: 1 } }),
    too_many_at_once: async () => {
      latch.hold();
      const key = await keyOf({ grant: { limits: { atOnce: 1 } } });
      const first = predict('latched', picture('held'), { 'x-api-key': key }, guarded());
      await latch.arrived();
      const second = await predict('latched', picture('not held'), { 'x-api-key': key }, guarded());
      latch.release();
      assert.equal((await first).status, 200);
      return second;
    },
    tokens_unverifiable: async () => {
      const { url: trusting } = await edge({
        SAMPAN_AUTH: 'on',
        SAMPAN_JWT_AUDIENCE: 'us',
        SAMPAN_JWKS_URL: 'http://127.0.0.1:1/keys',
      });
      const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
      const token = `${part({ alg: 'RS256', kid: 'one' })}.${part({ sub: 'me' })}.c2lnbmVk`;
      return predict('plain', picture('p'), { authorization: `Bearer ${token}` }, trusting);
    },
  };
}
