import type { Redis } from 'ioredis';
import { letGo, renew } from '../contracts/scripts/scripts.js';

/** A delivery's term: while it is renewed in time nobody else may claim the entry. */
export interface Lease {
  readonly stream: string;
  readonly entryId: string;
  /** When the present term began at the earliest; milliseconds, monotonic, as everywhere here. */
  renewedAt: number;
  /** It is not renewed later than this: a run that goes on for longer counts as hung. */
  renewUntil: number;
  /** Somebody else has the entry by now. */
  lost: boolean;
}

/** Leases of everything that a consumer holds. */
export interface Leases {
  readonly size: number;
  /** Begins a term; undefined where the entry is held already, as when it is delivered twice. */
  take(stream: string, entryId: string, now: number): Lease | undefined;
  end(lease: Lease): void;
  all(): Lease[];
}

export function createLeases(): Leases {
  const held = new Map<string, Lease>();
  const keyOf = (stream: string, entryId: string) => `${stream} ${entryId}`;
  return {
    get size() {
      return held.size;
    },
    take: (stream, entryId, now) => {
      const key = keyOf(stream, entryId);
      if (held.has(key)) return undefined;
      const lease = { stream, entryId, renewedAt: now, renewUntil: Infinity, lost: false };
      held.set(key, lease);
      return lease;
    },
    end: (lease) => {
      held.delete(keyOf(lease.stream, lease.entryId));
    },
    all: () => [...held.values()],
  };
}

export interface LeaseDeps {
  readonly client: Redis;
  readonly consumer: string;
  readonly leaseMs: number;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

/** Entries of one call: Redis answers nobody else while a script runs. */
const mostAtOnce = 256;

/** Renews leases; those of entries that are somebody else's by now are marked as lost. @throws where Redis does not answer */
export async function renewLeases(deps: LeaseDeps, leases: readonly Lease[]): Promise<void> {
  const sentAt = deps.now();
  const due = leases.filter((lease) => !lease.lost && lease.renewUntil > sentAt);
  await inCalls(due, async (stream, group) => {
    const ours = new Set(await renew(deps.client, stream, deps.consumer, idsOf(group)));
    for (const lease of group) {
      if (ours.has(lease.entryId)) lease.renewedAt = Math.max(lease.renewedAt, sentAt);
      else lease.lost = true;
    }
  });
}

/** Ends leases before their time, so that other consumers may claim the entries at once. */
export async function letLeasesGo(deps: LeaseDeps, leases: readonly Lease[]): Promise<void> {
  await inCalls(leases, async (stream, group) => {
    for (const lease of group) lease.lost = true;
    await letGo(deps.client, stream, deps.consumer, idsOf(group));
  });
}

/** Whether a lease may have run out, or soon will: what is held under it may be somebody else's by now. */
export function isStale(deps: LeaseDeps, lease: Lease): boolean {
  return deps.now() - lease.renewedAt > deps.leaseMs * 0.75;
}

function idsOf(leases: readonly Lease[]): string[] {
  return leases.map((lease) => lease.entryId);
}

async function inCalls(
  leases: readonly Lease[],
  call: (stream: string, group: readonly Lease[]) => Promise<void>,
): Promise<void> {
  const streams = new Set(leases.map((lease) => lease.stream));
  const calls = [...streams].flatMap((stream) => {
    const those = leases.filter((lease) => lease.stream === stream);
    return Array.from({ length: Math.ceil(those.length / mostAtOnce) }, (_, i) =>
      call(stream, those.slice(i * mostAtOnce, (i + 1) * mostAtOnce)),
    );
  });
  await Promise.all(calls);
}
