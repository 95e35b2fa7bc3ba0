import type { BenchOptions, Goal, Measured, Round } from '../bench.js';
import { figures } from '../rounds.js';

/** One thing that grows, and what it costs. */
export type Section = Pick<Measured, 'rounds' | 'goals' | 'remarks' | 'settings'>;

/** Cost at the largest size over that at the one that counts as small, round by round. */
export function flat(
  rounds: readonly Round[],
  { side, key, what, from, to }: { side: string; key: string; what: string; from: number; to: number },
): Goal {
  const small = figures(rounds, side, key, from);
  return {
    promise: `${what} at ${count(to)} at most 1.2 × that at ${count(from)}, ${side}`,
    perRound: figures(rounds, side, key, to).map((value, i) => value / (small[i] ?? Number.NaN)),
    bound: { atMost: 1.2 },
  };
}

const count = (size: number) => size.toLocaleString('en');

/** The least and the largest of sizes in ascending order. */
export function ends(sizes: readonly number[]): { from: number; to: number } {
  const [from, to] = [sizes[0], sizes.at(-1)];
  if (from === undefined || to === undefined) throw new Error('there are no sizes');
  return { from, to };
}

export type SectionRun = (options: BenchOptions) => Promise<Section>;
