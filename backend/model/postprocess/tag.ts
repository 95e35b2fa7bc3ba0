import type { Params } from '../../../contracts/params.js';
import type { Labelled } from '../../../contracts/prediction.js';
import { bestFirst } from './scores.js';

/**
 * Any number of tags, each true or not by itself: those that reach `minScore`, best first.
 * @param likelihoods one per label, from 0 to 1
 */
export function tag(likelihoods: Float32Array, labels: readonly string[], { minScore }: Params): Labelled[] {
  return bestFirst(likelihoods, labels, minScore ?? 0.5);
}
