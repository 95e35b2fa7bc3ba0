import { Failure } from '../../contracts/failure.js';
import type { Limits } from '../../contracts/grant.js';
import type { Spending, Spent } from '../../contracts/scripts/spend.js';
import { uuidv7 } from '../../contracts/uuid.js';
import type { Clock } from '../deps.js';
import { within } from '../within.js';
import { payFrom, type Bucket } from './gcra.js';
import type { Principal } from './principal.js';
import { rateLimitFields } from './rate-limit-fields.js';
import { limitsOf, type Tiers } from './tiers.js';

/** A request that was paid for. */
export interface Paid {
  /** Header fields that tell what is left; empty where nothing is limited, or nothing is known. */
  readonly fields: Readonly<Record<string, string>>;
  /** By which it is known as under way; '' where nobody counts. */
  readonly name: string;
  /** To be called once, when the request has been answered. */
  end(): void;
}

/** Takes the price of requests out of what their callers may spend. */
export interface Limiter {
  /** @throws Failure rate_limited | quota_exhausted | too_many_at_once, with the time to come back; permission_missing */
  pay(principal: Principal, price: number): Promise<Paid>;
  /**
   * The same for further pictures of a request that is under way already, and is remembered as such for longer by it.
   * @returns what is to be told of what is left then
   * @throws Failure rate_limited | quota_exhausted, with the time to come back
   */
  payMore(principal: Principal, price: number, request: Paid): Promise<Paid['fields']>;
}

export interface LimiterDeps {
  readonly spend: (spending: Spending) => Promise<Spent>;
  readonly endSpending: (account: string, requestId: string) => Promise<void>;
  readonly tiers: Tiers;
  readonly clock: Clock;
  /** Milliseconds after which a request that never ended is no longer counted as under way. */
  readonly longestMs: number;
  /** Milliseconds for an answer of Redis's; without one the edge counts by itself. */
  readonly answerLimitMs: number;
  /** Told of every request that was counted by this edge alone. */
  readonly onLocal: () => void;
}

/** Milliseconds for which Redis is not asked again after it did not answer. */
const restMs = 1000;
const mostBuckets = 10_000;
/** Ends that could not be told are kept and told again; what is not told is forgotten by Redis after `longestMs`. */
const mostUntold = 10_000;

const nothingDue: Paid = { fields: {}, name: '', end: () => undefined };

/** Counts in Redis, for all edges together; while it is away each edge holds the rate for itself. */
export function createLimiter(deps: LimiterDeps): Limiter {
  const local = localBuckets(deps);
  const ends = createEnds(deps);
  let askAgainAt = -Infinity;
  // A name of our own: callers may send one request id with all of their requests.
  const pay = async (account: string, limits: Limits, price: number, underWay?: string): Promise<Paid> => {
    if (Object.values(limits).every((limit) => limit === undefined)) return nothingDue;
    if (deps.clock.now() < askAgainAt) return local.pay(account, limits, price);
    const requestId = underWay ?? uuidv7();
    const end = () => {
      if (limits.atOnce !== undefined) ends.tell(account, requestId);
    };
    const asked = deps.spend({ account, limits, price, requestId, longestMs: deps.longestMs });
    const spent = await within(deps.answerLimitMs, asked).catch(() => undefined);
    if (!spent) {
      askAgainAt = deps.clock.now() + restMs;
      // It may still be counted as under way, once Redis comes to it; one that is goes on.
      if (underWay === undefined) asked.then(end, end);
      return local.pay(account, limits, price);
    }
    if (spent.how !== 'spent') throw refusal(spent, limits);
    ends.tellAgain();
    return { fields: rateLimitFields(limits, spent.left), name: requestId, end };
  };
  return {
    pay: async (principal, price) => {
      const { account } = principal;
      return account === undefined ? nothingDue : pay(account, limitsOf(deps.tiers, principal), price);
    },
    payMore: async (principal, price, { name }) => {
      const { account } = principal;
      if (account === undefined) return nothingDue.fields;
      const limits = limitsOf(deps.tiers, principal);
      // One that was not counted as under way, since Redis was away then, is not counted later.
      const counted = name === '' ? { ...limits, atOnce: undefined } : limits;
      return (await pay(account, counted, price, name === '' ? undefined : name)).fields;
    },
  };
}

/** Tells Redis that requests have ended; those that it could not be told of are told with the next that works. */
function createEnds({ endSpending }: LimiterDeps) {
  let untold: (readonly [account: string, requestId: string])[] = [];
  const tell = (account: string, requestId: string) => {
    endSpending(account, requestId).catch(() => {
      if (untold.length < mostUntold) untold.push([account, requestId]);
    });
  };
  return {
    tell,
    tellAgain: () => {
      if (untold.length === 0) return;
      const again = untold;
      untold = [];
      for (const [account, requestId] of again) tell(account, requestId);
    },
  };
}

type Refused = Exclude<Spent, { how: 'spent' }>;

function refusal({ how, againInMs, left }: Refused, limits: Limits): Failure {
  const fields = rateLimitFields(limits, left);
  switch (how) {
    case 'rate':
      return limited(againInMs, limits, fields);
    case 'day':
      return new Failure('quota_exhausted', `${String(limits.perDay)} pictures a day are allowed`, {
        ...after(againInMs),
        fields,
      });
    case 'at-once':
      return new Failure('too_many_at_once', `${String(limits.atOnce)} requests may be under way at a time`, {
        ...after(0),
        fields,
      });
    case 'burst':
      return new Failure('rate_limited', `no more than ${String(limits.burst)} pictures may ever come at once`, {
        fields,
      });
  }
}

function limited(againInMs: number, { perSecond }: Limits, fields = {}): Failure {
  return new Failure('rate_limited', `${String(perSecond)} pictures a second are allowed`, {
    ...after(againInMs),
    fields,
  });
}

function after(ms: number): { readonly retryAfter: number; readonly retryAfterMs: number } {
  return { retryAfter: Math.max(1, Math.ceil(ms / 1000)), retryAfterMs: ms };
}

/** Buckets of this edge alone; the oldest is forgotten where there are too many. */
function localBuckets({ clock, onLocal }: LimiterDeps) {
  const buckets = new Map<string, Bucket>();
  return {
    pay: (account: string, limits: Limits, price: number): Paid => {
      onLocal();
      const paid = payFrom(buckets.get(account) ?? 0, limits, price, clock.now() * 1000);
      if ('againInMs' in paid) throw limited(paid.againInMs, limits);
      buckets.delete(account);
      buckets.set(account, paid.bucket);
      const [oldest] = buckets.keys();
      if (buckets.size > mostBuckets && oldest !== undefined) buckets.delete(oldest);
      return nothingDue;
    },
  };
}

/** Where nobody is limited. */
export const noLimiter: Limiter = { pay: () => Promise.resolve(nothingDue), payMore: () => Promise.resolve({}) };
