import type { Round } from './bench.js';

/** Something that is measured, as often as it is asked for. */
export interface Side {
  readonly name: string;
  readonly point?: number;
  measure(): Promise<Readonly<Record<string, number>>>;
}

/**
 * Measures the sides in turns, so that what happens to the machine happens to all of them; every second time in the
 * opposite order. `warmUps` turns before that do not count.
 */
export async function interleaved(
  sides: readonly Side[],
  { rounds, warmUps, say }: { rounds: number; warmUps: number; say: (what: string) => void },
): Promise<Round[]> {
  const measured: Round[] = [];
  for (let round = -warmUps; round < rounds; round++) {
    say(round < 0 ? 'warming up' : `round ${String(round + 1)} of ${String(rounds)}`);
    for (const side of round % 2 === 0 ? sides : [...sides].reverse()) {
      const values = await side.measure();
      if (round < 0) continue;
      const point = side.point === undefined ? {} : { point: side.point };
      measured.push({ side: side.name, ...point, round, values: { ...values } });
    }
  }
  return measured;
}

/** One figure of one side (at one point), in the order of the rounds. */
export function figures(rounds: readonly Round[], side: string, key: string, point?: number): number[] {
  return rounds
    .filter((one) => one.side === side && one.point === point)
    .sort((a, b) => a.round - b.round)
    .map(({ values }) => values[key] ?? Number.NaN);
}

/** Ours over theirs, round by round. */
export function ratios(rounds: readonly Round[], key: string, ours: string, theirs: string, point?: number): number[] {
  const other = figures(rounds, theirs, key, point);
  return figures(rounds, ours, key, point).map((value, i) => value / (other[i] ?? Number.NaN));
}
