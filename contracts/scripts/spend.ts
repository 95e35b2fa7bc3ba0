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

/** What is left, whether a request was paid for or refused; milliseconds. */
export interface Left {
  readonly pictures: number;
  readonly fullInMs: number;
  readonly picturesToday: number;
  readonly dayEndsInMs: number;
}

export type Spent =
  | { readonly how: 'spent'; readonly left: Left }
  | {
      /** Over a limit; or it costs more than may ever come at once. */
      readonly how: 'rate' | 'day' | 'at-once' | 'burst';
      /** It may be tried again after so many milliseconds, 0 where that is not known. */
      readonly againInMs: number;
      readonly left: Left;
    };

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
  const [againInMs = 0, pictures = 0, fullInMs = 0, picturesToday = 0, dayEndsInMs = 0] = numbers.map(Number);
  const left = { pictures, fullInMs, picturesToday, dayEndsInMs };
  if (how === 'spent') return { how, left };
  if (how === 'rate' || how === 'day' || how === 'at-once' || how === 'burst') return { how, againInMs, left };
  throw new Error('the script spend answered in a form that is not known');
}

/** A request of an account is no longer under way. @throws where Redis does not answer */
export async function endSpending(client: StreamClient, account: string, requestId: string): Promise<void> {
  await client.zrem(spendKeys(account).underWay, requestId);
}
