import type { Bench } from './bench.js';

/** All there are, in the order in which they run. */
export const benches: readonly Bench[] = [];
