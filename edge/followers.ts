import { Failure } from '../contracts/failure.js';

/** Callers that keep a connection open until a task ends; neither rates nor deadlines bound these. */
export interface Followers {
  /**
   * Counts one more of a tenant's.
   * @returns to be called once, when it has its answer
   * @throws Failure too_many_at_once
   */
  begin(tenant: string): () => void;
}

/** @param most that one tenant may have on this edge at a time */
export function createFollowers(most: number): Followers {
  const following = new Map<string, number>();
  const add = (tenant: string, change: 1 | -1) => {
    const count = (following.get(tenant) ?? 0) + change;
    if (count === 0) following.delete(tenant);
    else following.set(tenant, count);
  };
  return {
    begin: (tenant) => {
      if ((following.get(tenant) ?? 0) >= most) {
        throw new Failure('too_many_at_once', `${most} requests may follow tasks at a time`, { retryAfter: 1 });
      }
      add(tenant, 1);
      return () => add(tenant, -1);
    },
  };
}
