import type { Inference } from './journal.js';
import type { RequestRecord } from './record.js';
import type { Strike } from './schedule.js';
import { times } from './times.js';
import { overlap } from './windows.js';

/** A picture that was inferred once more. */
export interface Rerun {
  readonly md5: string;
  readonly before: Inference;
  readonly again: Inference;
  /** Why that was in order: a fault's name, or that the picture was sent again; undefined where it was not. */
  readonly reason: string | undefined;
}

/**
 * Finds what was inferred more than once, and why. Two reasons are legitimate: a fault struck the first run's consumer,
 * or everybody, between the start of the run and its settling; or the picture was sent again and was a task anew.
 */
export function findReruns(
  inferences: readonly Inference[],
  records: readonly RequestRecord[],
  strikes: readonly Strike[],
): Rerun[] {
  const sends = byPicture(records);
  return [...byPicture(inferences)].flatMap(([md5, runs]) => {
    let sentAgain = mostTasks(sends.get(md5) ?? []) - 1;
    return runs.slice(1).map((again, i): Rerun => {
      const before = runs[i] ?? again;
      const fault = strikes.find((strike) => excuses(strike, before, again))?.fault;
      const reason = fault ?? (sentAgain-- > 0 ? 'sent again as another task' : undefined);
      return { md5, before, again, reason };
    });
  });
}

function byPicture<T extends { readonly md5: string }>(all: readonly T[]): Map<string, T[]> {
  const groups = new Map<string, T[]>();
  for (const one of all) {
    const group = groups.get(one.md5);
    if (group) group.push(one);
    else groups.set(one.md5, [one]);
  }
  return groups;
}

/** How many tasks a picture's requests can have been: those that answered, and one for each that tells of none. */
function mostTasks(requests: readonly RequestRecord[]): number {
  const told = new Set(requests.flatMap(({ task }) => (task === undefined ? [] : [task])));
  const untold = requests.filter(({ task, code }) => task === undefined && code !== 'overloaded');
  return told.size + untold.length;
}

function excuses(strike: Strike, before: Inference, again: Inference): boolean {
  if (strike.excuses === 'nobody') return false;
  if (strike.excuses === 'struck' && !strike.parts.some(({ pid }) => pid === before.pid)) return false;
  const untilSettled = { from: before.startedAt, to: before.endedAt + times.settleMs };
  return again.startedAt >= strike.struckAt && overlap(untilSettled, { from: strike.struckAt, to: strike.endedAt });
}
