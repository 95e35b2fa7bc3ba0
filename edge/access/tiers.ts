import * as z from 'zod';
import { limitsSchema, tierSchema, type Limits } from '../../contracts/grant.js';
import type { Principal } from './principal.js';

/** What holds for callers of each tier; a tier that is not named has no limits. */
export type Tiers = Readonly<Record<string, Limits>>;

export const tiersSchema = z.record(tierSchema, limitsSchema);

export const defaultTiers: Tiers = {
  free: { perSecond: 5, burst: 20, perDay: 10_000, atOnce: 10 },
  standard: { perSecond: 50, burst: 200, perDay: 1_000_000, atOnce: 100 },
  premium: { perSecond: 500, burst: 2000, atOnce: 1000 },
};

/** A caller's limits: its tier's, save where its key says otherwise. */
export function limitsOf(tiers: Tiers, { tier, limits }: Principal): Limits {
  return { ...tiers[tier], ...limits };
}
