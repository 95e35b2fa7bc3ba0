import { errors, jwtVerify, type JWTPayload, type JWTVerifyOptions } from 'jose';
import * as z from 'zod';
import { Failure } from '../../contracts/failure.js';
import { grantSchema } from '../../contracts/grant.js';
import type { Clock } from '../deps.js';
import { principalOf, type Principal } from './principal.js';
import { isOfToken, verifierByKeysAt, type Verify } from './public-keys.js';

/** How tokens are checked: with one secret that both sides have, or with the public keys at a URL. */
export type TokenTrust = ({ readonly secret: string } | { readonly jwksUrl: string }) & {
  readonly issuer?: string | undefined;
  readonly audience?: string | undefined;
};

/**
 * Who holds a JSON Web Token.
 * @throws Failure credentials_invalid | credentials_expired | tokens_unverifiable
 */
export type TokenAuthority = (token: string) => Promise<Principal>;

/** A public key must never be taken for a shared secret, so each way has algorithms of its own; "none" is in neither. */
const secretAlgorithms = ['HS256'];
const publicKeyAlgorithms = ['RS256', 'PS256', 'ES256', 'ES384', 'EdDSA'];

/** Seconds by which the issuer's clock may differ. */
const clockTolerance = 5;
/** What is read of a token beside exp, nbf, iss and aud: the grant, with OAuth's spelling of permissions. */
const claimsSchema = z.object({
  sub: z.string().min(1).max(256),
  tenant: grantSchema.shape.tenant,
  tier: grantSchema.shape.tier.default('free'),
  /** Permissions, separated by spaces; other scopes are other services'. */
  scope: z.string().max(1024).default('predict'),
  models: grantSchema.shape.models,
});

/** Checks tokens by jose; every claim that decides something must be there and in order. */
export function createTokenAuthority(trust: TokenTrust, clock: Clock): TokenAuthority {
  const options: JWTVerifyOptions = {
    ...{ clockTolerance, requiredClaims: ['exp', 'sub', 'tenant'] },
    ...(trust.issuer === undefined ? {} : { issuer: trust.issuer }),
    ...(trust.audience === undefined ? {} : { audience: trust.audience }),
  };
  const verify = verifierOf(trust, options, clock);
  return async (token) => {
    const { payload } = await verify(token).catch((error: unknown) => {
      throw refusal(error);
    });
    return holderOf(payload);
  };
}

function verifierOf(trust: TokenTrust, options: JWTVerifyOptions, clock: Clock): Verify {
  if ('secret' in trust) {
    const secret = new TextEncoder().encode(trust.secret);
    return (token) => jwtVerify(token, secret, { ...options, algorithms: secretAlgorithms });
  }
  return verifierByKeysAt(trust.jwksUrl, { ...options, algorithms: publicKeyAlgorithms }, clock);
}

function holderOf(payload: JWTPayload): Principal {
  const claims = claimsSchema.safeParse(payload);
  if (!claims.success) {
    const [issue] = claims.error.issues;
    throw new Failure(
      'credentials_invalid',
      `the token's claim ${issue?.path.join('.') ?? ''} is missing or not allowed`,
    );
  }
  const { sub, tenant, tier, scope, models } = claims.data;
  const permissions = grantSchema.shape.permissions.element.options.filter((one) => scope.split(' ').includes(one));
  return principalOf({ tenant, tier, permissions, models }, `sub:${tenant}:${sub}`);
}

function refusal(error: unknown): Failure {
  if (error instanceof errors.JWTExpired) return new Failure('credentials_expired', 'the token has expired');
  if (isOfToken(error)) {
    return new Failure('credentials_invalid', 'the token cannot be verified', { cause: error });
  }
  return new Failure('tokens_unverifiable', 'the keys that tokens are verified with cannot be fetched', {
    cause: error,
  });
}
