export interface Spread {
  readonly median: number;
  readonly least: number;
  readonly most: number;
}

/** Of an even number the median is the mean of the two in the middle. @throws Error for none, or for one that is no number */
export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  const [least, most] = [sorted[0], sorted.at(-1)];
  const [lower, upper] = [sorted[Math.floor((sorted.length - 1) / 2)], sorted[Math.floor(sorted.length / 2)]];
  if (least === undefined || most === undefined || lower === undefined || upper === undefined) {
    throw new Error('there are no values');
  }
  if (!sorted.every(Number.isFinite)) throw new Error(`there are values that are no numbers: ${sorted.join(', ')}`);
  return { median: (lower + upper) / 2, least, most };
}

/** The value below which so great a share of the values lies; `sorted` ascends. */
export function quantile(sorted: ArrayLike<number>, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
