import type { Column, Goal, Measured, Round } from './bench.js';
import { spread } from './statistics.js';

/** Median and, in parentheses, the least and the most. */
export function shown(values: readonly number[], digits?: number): string {
  const { median, least, most } = spread(values);
  return `${numeral(median, digits)} (${numeral(least, digits)}–${numeral(most, digits)})`;
}

function numeral(value: number, digits?: number): string {
  if (digits !== undefined) return value.toFixed(digits);
  return value.toFixed(Math.abs(value) >= 100 ? 0 : Math.abs(value) >= 10 ? 1 : 2);
}

/** Whether the median of all rounds is within the bound. */
function isMet({ perRound, bound }: Goal): boolean {
  const { median } = spread(perRound);
  return 'atMost' in bound ? median <= bound.atMost : median >= bound.atLeast;
}

/**
 * How a goal stands: what is missed and may be met one day is told from what a limit forbids that was measured in the
 * same run, such as cores that were full, or a side that does less and misses it too.
 */
export function verdict(goal: Goal): 'met' | 'forbidden' | 'missed' {
  if (isMet(goal)) return 'met';
  return goal.limit === undefined ? 'missed' : 'forbidden';
}

/** A table in Markdown, which is also how it is printed: a row per side and point. */
export function table({ rounds, columns }: Measured): string[] {
  const hasPoints = rounds.some(({ point }) => point !== undefined);
  const head = ['side', ...(hasPoints ? ['at'] : []), ...columns.map(({ label }) => label)];
  const rows = groups(rounds).map((group) => {
    const [{ side, point } = { side: '' }] = group;
    return [side, ...(hasPoints ? [String(point ?? '')] : []), ...columns.map((column) => cell(group, column))];
  });
  return aligned([head, ...rows]);
}

function cell(group: readonly Round[], { key, digits }: Column): string {
  const values = group.flatMap(({ values: all }) => all[key] ?? []);
  return values.length === 0 ? '' : shown(values, digits);
}

/** Rounds of one side at one point, in the order in which they first came. */
export function groups(rounds: readonly Round[]): Round[][] {
  const found = new Map<string, Round[]>();
  for (const round of rounds) {
    const name = `${round.side}\n${String(round.point)}`;
    found.set(name, [...(found.get(name) ?? []), round]);
  }
  return [...found.values()];
}

/** A line per goal: its verdict, median and spread, and what limits it. */
export function goalLines(goals: readonly Goal[]): string[] {
  return goals.map((goal) => {
    const limit = goal.limit === undefined ? '' : ` (${goal.limit})`;
    return `${words[verdict(goal)]}: ${goal.promise}: ${shown(goal.perRound, 2)}${limit}`;
  });
}

const words = { met: 'met', forbidden: 'FORBIDDEN BY A LIMIT', missed: 'MISSED' } as const;

function aligned(rows: readonly (readonly string[])[]): string[] {
  const widths = (rows[0] ?? []).map((_, i) => Math.max(...rows.map((row) => row[i]?.length ?? 0), 3));
  const line = (cells: readonly string[]) => `| ${cells.map((one, i) => one.padEnd(widths[i] ?? 0)).join(' | ')} |`;
  const [head = [], ...rest] = rows;
  return [line(head), line(widths.map((width) => '-'.repeat(width))), ...rest.map(line)];
}
