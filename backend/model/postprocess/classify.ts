import type { Params } from '../../../contracts/params.js';
import type { Labelled } from '../../../contracts/prediction.js';
import { bestFirst } from './scores.js';

/**
 * One of several classes: at most `top` of them, best first.
 * @param probabilities one per label, summing to 1
 */
export function classify(
  probabilities: Float32Array,
  labels: readonly string[],
  { top, minScore }: Params,
): Labelled[] {
  return bestFirst(probabilities, labels, minScore ?? 0).slice(0, top);
}
