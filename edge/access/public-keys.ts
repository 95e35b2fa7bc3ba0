import {
  createLocalJWKSet,
  createRemoteJWKSet,
  errors,
  jwtVerify,
  type JWTVerifyGetKey,
  type JWTVerifyOptions,
  type JWTVerifyResult,
} from 'jose';
import type { Clock } from '../deps.js';

/** Verifies a token. @throws what jose throws; `isOfToken` tells whose fault it is */
export type Verify = (token: string) => Promise<JWTVerifyResult>;

/** Milliseconds: keys are fetched again when they are that old, or when a token names another, but not more often. */
const jwksAges = { cacheMaxAge: 600_000, cooldownDuration: 10_000, timeoutDuration: 3_000 };

/** Milliseconds for which known keys are used while none can be fetched. */
const bridgedMs = 3_600_000;

/**
 * Verifies by the public keys at a URL. While they cannot be fetched, those that were known do for an hour, and the fetch
 * is not tried for each token.
 * @param ages how long keys are fresh, in milliseconds; jose keeps that by the time of day
 */
export function verifierByKeysAt(url: string, options: JWTVerifyOptions, clock: Clock, ages = jwksAges): Verify {
  const keys = createRemoteJWKSet(new URL(url), ages);
  let [fetchedAt, failedAt] = [-Infinity, -Infinity];
  const verifyByKnown = (token: string, error: unknown) => {
    const known = keys.jwks();
    if (!known || clock.now() - fetchedAt > bridgedMs) throw error;
    return verifyByAny(token, createLocalJWKSet(known), options);
  };
  return async (token) => {
    const isResting = clock.now() - failedAt < ages.cooldownDuration && !keys.fresh;
    if (isResting) return verifyByKnown(token, new Error('the keys could not be fetched a moment ago'));
    try {
      const verified = await verifyByAny(token, keys, options);
      fetchedAt = clock.now();
      return verified;
    } catch (error) {
      if (isOfToken(error)) throw error;
      failedAt = clock.now();
      return verifyByKnown(token, error);
    }
  };
}

/** A token that does not name its key is tried with each that would do, as after a rotation there are two. */
async function verifyByAny(token: string, from: JWTVerifyGetKey, options: JWTVerifyOptions): Promise<JWTVerifyResult> {
  try {
    return await jwtVerify(token, from, options);
  } catch (error) {
    if (!(error instanceof errors.JWKSMultipleMatchingKeys)) throw error;
    for await (const key of error) {
      const verified = await jwtVerify(token, key, options).catch((reason: unknown) => {
        if (reason instanceof errors.JWSSignatureVerificationFailed) return undefined;
        throw reason;
      });
      if (verified) return verified;
    }
    throw new errors.JWSSignatureVerificationFailed();
  }
}

/** What is wrong with the token itself, as against what is wrong with fetching keys. */
export function isOfToken(error: unknown): boolean {
  return [
    ...[errors.JWTInvalid, errors.JWTClaimValidationFailed, errors.JWSInvalid, errors.JWSSignatureVerificationFailed],
    ...[errors.JOSEAlgNotAllowed, errors.JOSENotSupported, errors.JWKSNoMatchingKey, errors.JWTExpired],
  ].some((kind) => error instanceof kind);
}
