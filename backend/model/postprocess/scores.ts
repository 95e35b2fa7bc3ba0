import type { Labelled } from '../../../contracts/prediction.js';

/** Scores are answered with five decimals: finer than the model is, and short in JSON. */
export function roundedScore(score: number): number {
  return Math.round(score * 1e5) / 1e5;
}

/** The labels whose scores reach `minScore`, best first. */
export function bestFirst(scores: Float32Array, labels: readonly string[], minScore: number): Labelled[] {
  const reaching = labels
    .map((label, index) => ({ label, score: scores[index] ?? 0 }))
    .filter(({ score }) => score >= minScore);
  return reaching
    .sort((one, other) => other.score - one.score)
    .map(({ label, score }) => ({ label, score: roundedScore(score) }));
}
