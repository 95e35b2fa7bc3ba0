/**
 * Tries every candidate once and keeps the one with the greatest figure, so that each side is at its best.
 * @returns it, and all figures in words
 */
export async function bestOf<Candidate>(
  candidates: readonly Candidate[],
  nameOf: (candidate: Candidate) => string,
  figureOf: (candidate: Candidate) => Promise<number>,
): Promise<{ readonly best: Candidate; readonly tried: string }> {
  const tried: { candidate: Candidate; figure: number }[] = [];
  for (const candidate of candidates) tried.push({ candidate, figure: await figureOf(candidate) });
  const [first] = [...tried].sort((one, other) => other.figure - one.figure);
  if (!first) throw new Error('there is nothing to try');
  const words = tried.map(({ candidate, figure }) => `${nameOf(candidate)}: ${figure.toFixed(0)}`);
  return { best: first.candidate, tried: words.join(', ') };
}
