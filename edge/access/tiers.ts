import * as z from 'zod';
import { Failure } from '../../contracts/failure.js';
import { limitsSchema, type Limits } from '../../contracts/grant.js';
import { tierSchema } from '../../contracts/task.js';
import type { Principal } from './principal.js';

/** What holds for callers of each tier. */
export type Tiers = Readonly<Record<string, Limits>>;

const tierLimits = limitsSchema.refine(({ perSecond, burst }) => burst === undefined || perSecond !== undefined, {
  error: 'a burst needs perSecond beside it',
});
export const tiersSchema = z.record(tierSchema, tierLimits);

export const defaultTiers: Tiers = {
  free: { perSecond: 5, burst: 20, perDay: 10_000, atOnce: 10 },
  standard: { perSecond: 50, burst: 200, perDay: 1_000_000, atOnce: 100 },
  premium: { perSecond: 500, burst: 2000, atOnce: 1000 },
};

/**
 * A caller's limits: its tier's, save where its key says otherwise.
 * @throws Failure permission_missing for a tier that there is not: a slip of the pen must not be without limits
 */
export function limitsOf(tiers: Tiers, { tier, limits }: Principal): Limits {
  const ofTier = Object.hasOwn(tiers, tier) ? tiers[tier] : undefined;
  if (!ofTier) throw new Failure('permission_missing', `the tier "${tier}" of the credentials is not known here`);
  return { ...ofTier, ...limits };
}
