import type { Goal, Round } from '../bench.js';
import { figures } from '../rounds.js';
import { spread } from '../statistics.js';

export const consumersSide = 'consumers';
export const edgesSide = 'edges, tasks';
export const lookupsSide = 'edges, lookups';

/** Beyond this Redis, or all cores, count as full: what then lacks to a straight line is theirs. */
export const fullAt = 0.9;

/** Adds each round's share of n times what one did in the same round, and what a chart of tasks alone draws. */
export function withShares(rounds: readonly Round[]): Round[] {
  const rateOfOne = (side: string, round: number) =>
    rounds.find((one) => one.side === side && one.point === 1 && one.round === round)?.values['perSecond'];
  return rounds.map((one) => {
    const perSecond = one.values['perSecond'] ?? Number.NaN;
    // More edges before the same consumers do no more tasks: what is asked of them is not to do fewer.
    const times = one.side === edgesSide ? 1 : (one.point ?? 1);
    const linear = perSecond / (times * (rateOfOne(one.side, one.round) ?? Number.NaN));
    const drawn = one.side === lookupsSide ? {} : { tasksPerSecond: perSecond };
    return { ...one, values: { ...one.values, linear, ...drawn } };
  });
}

/** At each size but one; where something was full the goal says so. Takes rounds with their shares. */
export function linearGoals(rounds: readonly Round[]): Goal[] {
  return [consumersSide, edgesSide, lookupsSide].flatMap((side) => {
    const points = [...new Set(rounds.filter((one) => one.side === side).map(({ point }) => point ?? 1))];
    return points.filter((point) => point > 1).map((point) => goalAt(rounds, side, point));
  });
}

function goalAt(rounds: readonly Round[], side: string, point: number): Goal {
  const full = fullOf(rounds, side, point);
  const what = side === edgesSide ? 'of the rate of one edge' : 'of linear';
  return {
    promise: `at least 0.95 ${what}, ${side}, ${String(point)}`,
    perRound: figures(rounds, side, 'linear', point),
    bound: { atLeast: 0.95 },
    ...(full === undefined ? {} : { limit: full }),
  };
}

/** What was full at a size: Redis, the cores, or nothing. */
export function fullOf(rounds: readonly Round[], side: string, point: number): string | undefined {
  const median = (key: string) => spread(figures(rounds, side, key, point)).median;
  const [redis, machine] = [median('redis'), median('machine')];
  if (redis > fullAt) return `Redis was full: busy for ${redis.toFixed(2)} of the time`;
  if (machine > fullAt) return `the cores were full: ${machine.toFixed(2)} of them were busy`;
  return undefined;
}
