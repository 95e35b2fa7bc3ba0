import type { Labelled } from '../../../contracts/prediction.js';

/** Scores are answered with five decimals: finer than the model is, and short in JSON. */
export function roundedScore(score: number): number {
  return Math.round(score * 1e5) / 1e5;
}

/** A threshold as float32 has it, so that a score that reads 0.35 reaches 0.35. */
export function leastScore(minScore: number): number {
  return Math.fround(minScore);
}

/** The labels whose scores reach `minScore`, best first. */
export function bestFirst(scores: Float32Array, labels: readonly string[], minScore: number): Labelled[] {
  const least = leastScore(minScore);
  const reaching = labels
    .map((label, index) => ({ label, score: scores[index] ?? 0 }))
    .filter(({ score }) => score >= least);
  return reaching
    .sort((one, other) => other.score - one.score)
    .map(({ label, score }) => ({ label, score: roundedScore(score) }));
}
