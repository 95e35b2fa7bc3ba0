import * as z from 'zod';
import type { Limits } from '../grant.js';
import { spendKeys } from '../keys.js';
import type { StreamClient } from './scripts.js';

/** What a request costs, and on whose account. */
export interface Spending {
  readonly account: string;
  readonly limits: Limits;
  /** Pictures. */
  readonly price: number;
  /** Names the request while it is under way. */
  readonly requestId: string;
  /** Milliseconds after which it is forgotten, should it never end. */
  readonly longestMs: number;
  /** Microseconds since the epoch; the server's own clock where it is left out. */
  readonly now?: number;
}

/** What is left after a request was paid for; milliseconds. */
export interface Left {
  readonly pictures: number;
  readonly fullInMs: number;
  readonly picturesToday: number;
  readonly dayEndsInMs: number;
}

export type Spent =
  | ({ readonly how: 'spent' } & Left)
  /** Over a limit; it may be tried again after so many milliseconds, 0 where that is not known. */
  | { readonly how: 'rate' | 'day' | 'at-once'; readonly againInMs: number }
  /** It costs more than may ever come at once. */
  | { readonly how: 'burst' };

/** The rate as GCRA has it: microseconds a picture (0 is no limit), and how many may come at once. */
export function cellRate({ perSecond, burst }: Limits): { readonly interval: number; readonly burst: number } {
  if (perSecond === undefined) return { interval: 0, burst: 0 };
  return { interval: Math.round(1_000_000 / perSecond), burst: burst ?? Math.max(1, Math.ceil(perSecond)) };
}

/** Pays for a request; see spend.lua. @throws where Redis does not answer */
export async function spend(client: StreamClient, spending: Spending): Promise<Spent> {
  const { account, limits, price, requestId, longestMs, now } = spending;
  const keys = spendKeys(account);
  const { interval, burst } = cellRate(limits);
  const { perDay = 0, atOnce = 0 } = limits;
  const reply = z
    .string()
    .parse(
      await client.sampanSpend(
        ...[keys.account, keys.underWay, price, interval, burst, perDay, atOnce, requestId, longestMs, now ?? ''],
      ),
    );
  const [how, ...numbers] = reply.split(' ');
  const [first = 0, second = 0, third = 0, fourth = 0] = numbers.map(Number);
  if (how === 'spent') return { how, pictures: first, fullInMs: second, picturesToday: third, dayEndsInMs: fourth };
  if (how === 'rate' || how === 'day' || how === 'at-once') return { how, againInMs: first };
  if (how === 'burst') return { how };
  throw new Error('the script spend answered in a form that is not known');
}

/** A request of an account is no longer under way. @throws where Redis does not answer */
export async function endSpending(client: StreamClient, account: string, requestId: string): Promise<void> {
  await client.zrem(spendKeys(account).underWay, requestId);
}
