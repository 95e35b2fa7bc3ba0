export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Of an even number, the upper of the two in the middle. @throws Error for none */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [least, median, most] = [sorted[0], sorted[Math.floor(sorted.length / 2)], sorted.at(-1)];
  if (least === undefined || median === undefined || most === undefined) throw new Error('there are no values');
  return { median, least, most };
}

/** The value below which so great a share of the values lies; `sorted` ascends. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
