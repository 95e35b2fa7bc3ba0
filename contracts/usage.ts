import { usageKey } from './keys.js';
import type { StreamClient } from './scripts/scripts.js';

/** What is counted for each tenant and day. */
export const usageKinds = ['requests', 'pictures', 'hits', 'failures'] as const;
export type UsageKind = (typeof usageKinds)[number];
export type Usage = Readonly<Record<UsageKind, number>>;

/** Seconds that a day's account is kept: four hundred days. */
const keepSeconds = 400 * 86_400;

/** The day of a time, in UTC. */
export function dayOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 10);
}

/** Adds to the account of a day, in one transaction. @throws where Redis does not answer, or refuses all of it */
export async function addUsage(client: StreamClient, day: string, byTenant: ReadonlyMap<string, Usage>): Promise<void> {
  const change = client.multi();
  for (const [tenant, usage] of byTenant) {
    for (const kind of usageKinds) if (usage[kind] > 0) change.hincrby(usageKey(day), `${tenant} ${kind}`, usage[kind]);
  }
  change.expire(usageKey(day), keepSeconds);
  // A single field that was broken by hand cannot be mended by adding the others once more.
  if (!(await change.exec())) throw new Error('the account was not written');
}

/** The account of a day, by tenant. */
export async function readUsage(client: StreamClient, day: string): Promise<ReadonlyMap<string, Usage>> {
  const byTenant = new Map<string, Record<UsageKind, number>>();
  for (const [field, count] of Object.entries(await client.hgetall(usageKey(day)))) {
    const [tenant = '', what] = field.split(' ');
    const kind = usageKinds.find((known) => known === what);
    if (!kind) continue;
    const usage = byTenant.get(tenant) ?? { requests: 0, pictures: 0, hits: 0, failures: 0 };
    byTenant.set(tenant, { ...usage, [kind]: Number(count) });
  }
  return byTenant;
}
