import type { Limits } from '../../contracts/grant.js';
import { cellRate, type Left } from '../../contracts/scripts/spend.js';

/**
 * The fields `RateLimit-Policy` and `RateLimit` (draft-ietf-httpapi-ratelimit-headers-10), a policy for the burst and
 * one for the day: q is the quota in pictures, w its window and t the time until it is whole again, in seconds.
 */
export function rateLimitFields(limits: Limits, left: Left): Record<string, string> {
  const { interval, burst } = cellRate(limits);
  const policies: string[] = [];
  const now: string[] = [];
  if (interval > 0) {
    policies.push(`"burst";q=${String(burst)};w=${String(seconds((burst * interval) / 1000))}`);
    now.push(`"burst";r=${String(left.pictures)};t=${String(seconds(left.fullInMs))}`);
  }
  if (limits.perDay !== undefined) {
    policies.push(`"day";q=${String(limits.perDay)};w=86400`);
    now.push(`"day";r=${String(left.picturesToday)};t=${String(seconds(left.dayEndsInMs))}`);
  }
  return policies.length === 0 ? {} : { 'ratelimit-policy': policies.join(', '), ratelimit: now.join(', ') };
}

function seconds(ms: number): number {
  return Math.ceil(ms / 1000);
}
