import { setTimeout as sleep } from 'node:timers/promises';
import type { Random } from '../random.js';
import type { Fault } from './faults.js';
import { leastPending, times } from './times.js';
import type { World } from './world.js';

/** One fault that struck. */
export interface Strike {
  readonly fault: string;
  readonly excuses: Fault['excuses'];
  readonly delays: Fault['delays'];
  readonly disturbs: boolean;
  readonly loses?: boolean | undefined;
  /** Entries pending when it struck. */
  readonly pending: number;
  readonly struckAt: number;
  readonly endedAt: number;
  /** Names and process ids of the parts that it struck. */
  readonly parts: readonly { readonly name: string; readonly pid: number }[];
}

export interface Schedule {
  readonly faults: readonly Fault[];
  readonly seconds: number;
  readonly random: Random;
  /** Names of faults that are kept from striking, to see that the run fails. */
  readonly kept: ReadonlySet<string>;
  readonly say: (line: string) => void;
}

export interface ScheduleResult {
  readonly strikes: readonly Strike[];
  /** Why a fault did not strike. */
  readonly missed: readonly string[];
}

/**
 * Lets faults strike, one at a time, in an order that the seed repeats: each of them once, and then again, in a new
 * order each time, until the seconds are over.
 */
export async function runSchedule(world: World, schedule: Schedule): Promise<ScheduleResult> {
  const { faults, seconds, random, kept, say } = schedule;
  const endsAt = performance.now() + seconds * 1000;
  const pauseMs = seconds >= times.longFromSeconds ? times.pauseMs.long : times.pauseMs.short;
  const strikes: Strike[] = [];
  const missed: string[] = [];
  for (let round = 0; round === 0 || performance.now() < endsAt; round++) {
    for (const fault of inTurn(faults, random)) {
      if (round > 0 && performance.now() >= endsAt) break;
      try {
        if (kept.has(fault.name)) throw new Error('it was kept from striking');
        const strike = await strikeOnce(world, fault, random, round);
        strikes.push(strike);
        say(lineOf(strike));
      } catch (error) {
        missed.push(`${fault.name}: ${error instanceof Error ? error.message : String(error)}`);
        say(`  ${fault.name}: DID NOT STRIKE`);
      }
      await sleep(pauseMs);
    }
  }
  await sleep(Math.max(0, endsAt - performance.now()));
  return { strikes, missed };
}

/** Those that may delay nobody come first: a request that missed its deadline then has none of the others to blame. */
function inTurn(faults: readonly Fault[], random: Random): Fault[] {
  const shuffled = random.shuffled(faults);
  return [
    ...shuffled.filter(({ delays }) => delays === 'nobody'),
    ...shuffled.filter(({ delays }) => delays !== 'nobody'),
  ];
}

async function strikeOnce(world: World, fault: Fault, random: Random, turn: number): Promise<Strike> {
  await world.untilReady();
  const pending = await enoughPending(world);
  const parts: { name: string; pid: number }[] = [];
  const struckAt = Date.now();
  await fault.strike(world, random, turn, ({ part }) => parts.push({ name: part.name, pid: part.now.pid }));
  const { name, excuses, delays, disturbs, loses } = fault;
  return { fault: name, excuses, delays, disturbs, loses, pending, struckAt, endedAt: Date.now(), parts };
}

/** Waits until enough is pending, and answers how much; after a bound, whatever it is then. */
async function enoughPending(world: World): Promise<number> {
  const givenUpAt = performance.now() + times.limits.pendingMs;
  for (;;) {
    const pending = await world.pending();
    if (pending >= leastPending || performance.now() > givenUpAt) return pending;
    await sleep(20);
  }
}

function lineOf({ fault, pending, struckAt, endedAt, parts }: Strike): string {
  const time = new Date(struckAt).toISOString().slice(11, 23);
  const names = parts.length > 0 ? ` · ${parts.map(({ name }) => name).join(', ')}` : '';
  return `  ${time} ${fault} while ${String(pending)} were pending, for ${String(endedAt - struckAt)} ms${names}`;
}
