import { spread } from '../statistics.js';

/** The median of the last quarter over that of the second, of samples in the order in which they were taken. */
export function lastOverSecond(samples: readonly number[]): number {
  const quarter = Math.floor(samples.length / 4);
  const second = samples.slice(quarter, 2 * quarter);
  const last = samples.slice(-quarter);
  return spread(last).median / spread(second).median;
}
