import { dayOf, type Usage } from '../contracts/usage.js';

/** What tenants used, for their bills. */
export interface UsageAccount {
  count(tenant: string, what: Usage): void;
  /** Writes what was counted; resolves when it is written, or kept for the next time. */
  flush(): Promise<void>;
}

export interface UsageDeps {
  /** Adds to a day's account. */
  readonly add: (day: string, byTenant: ReadonlyMap<string, Usage>) => Promise<void>;
  /** Milliseconds since the epoch. */
  readonly now: () => number;
}

const dayMs = 86_400_000;

type ByTenant = Map<string, Usage>;

/** Counts in memory, by day and tenant; what cannot be written is kept and tried again. */
export function createUsageAccount({ add, now }: UsageDeps): UsageAccount {
  let days = new Map<number, ByTenant>();
  const count = (day: number, tenant: string, what: Usage) => {
    let tenants = days.get(day);
    if (!tenants) {
      tenants = new Map<string, Usage>();
      days.set(day, tenants);
    }
    tenants.set(tenant, sum(tenants.get(tenant), what));
  };
  const write = async () => {
    const written = days;
    days = new Map();
    for (const [day, tenants] of written) {
      // A write whose answer was lost may be counted twice; one that was refused is not lost.
      await add(dayOf(day * dayMs), tenants).catch(() => {
        for (const [tenant, usage] of tenants) count(day, tenant, usage);
      });
    }
  };
  let writing = Promise.resolve();
  return {
    count: (tenant, what) => count(Math.floor(now() / dayMs), tenant, what),
    flush: () => (writing = writing.then(write)),
  };
}

/** Where nobody is told apart. */
export const noUsage: UsageAccount = { count: () => undefined, flush: () => Promise.resolve() };

function sum(one: Usage | undefined, other: Usage): Usage {
  if (!one) return other;
  const { requests, pictures, hits, failures } = other;
  return {
    requests: one.requests + requests,
    pictures: one.pictures + pictures,
    hits: one.hits + hits,
    failures: one.failures + failures,
  };
}
