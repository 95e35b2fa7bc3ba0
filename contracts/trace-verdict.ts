import { noParts, partNames, type PartName, type TraceParts } from './trace-parts.js';

/** What is usual of each part of a model's requests, in milliseconds. */
export interface Baseline {
  /** Of so many requests. */
  readonly count: number;
  readonly median: Readonly<Record<PartName, number>>;
  /** Nine of ten take no longer. */
  readonly high: Readonly<Record<PartName, number>>;
}

/** One part that took longer than it usually does. */
export interface Unusual {
  readonly part: PartName;
  readonly ms: number;
  readonly usualMs: number;
}

export interface Verdict {
  /** The part that took the most, and its share of the whole from 0 to 1. */
  readonly main: { readonly part: PartName; readonly ms: number; readonly share: number };
  /** The most unusual first; empty where nothing is, or where too little is known. */
  readonly unusual: readonly Unusual[];
  /** So many requests it was held against; fewer than `leastKnown` say nothing. */
  readonly known: number;
}

/** Fewer requests do not tell what is usual. */
export const leastKnown = 5;
/** An unusual part takes at least so much more than usual, and so much of the whole: less makes nobody's request slow. */
const leastExcessMs = 20;
const leastShare = 0.1;

/** What is usual of requests: medians, and what nine of ten do not exceed. */
export function baselineOf(requests: readonly TraceParts[]): Baseline {
  const of = (quantile: number) =>
    byPart((part) =>
      quantileOf(
        requests.map(({ parts }) => parts[part]),
        quantile,
      ),
    );
  return { count: requests.length, median: of(0.5), high: of(0.9) };
}

/** Which part took the most of a request, and which took longer than usual. */
export function verdictOn({ totalMs, parts }: TraceParts, baseline: Baseline): Verdict {
  const [first, ...others] = partNames;
  const main = others.reduce<PartName>((most, part) => (parts[part] > parts[most] ? part : most), first);
  const unusual = partNames
    .map((part) => ({ part, ms: parts[part], usualMs: baseline.median[part] }))
    .filter((one) => baseline.count >= leastKnown && isUnusual(one, baseline.high[one.part], totalMs))
    .sort((a, b) => b.ms - b.usualMs - (a.ms - a.usualMs));
  const share = totalMs > 0 ? parts[main] / totalMs : 0;
  return { main: { part: main, ms: parts[main], share }, unusual, known: baseline.count };
}

/** More than half again as much as nine of ten take, and enough of it to be felt. */
function isUnusual({ ms, usualMs }: Unusual, highMs: number, totalMs: number): boolean {
  const excess = ms - usualMs;
  return excess >= leastExcessMs && excess >= leastShare * totalMs && ms > 1.5 * highMs;
}

/** A verdict in words, such as `82 % queue: 512.0 ms, where 3.1 ms are usual`. */
export function verdictText({ main, unusual, known }: Verdict): string {
  const share = `${String(Math.round(main.share * 100))} % ${main.part}`;
  const [first] = unusual;
  if (known < leastKnown) return `${share} (${main.ms.toFixed(1)} ms); too few others are kept to tell what is usual`;
  if (!first) return `${share} (${main.ms.toFixed(1)} ms); nothing unusual beside ${String(known)} others`;
  const told = unusual.map(
    ({ part, ms, usualMs }) => `${part} took ${ms.toFixed(1)} ms, where ${usualMs.toFixed(1)} ms are usual`,
  );
  return `${share}; ${told.join('; ')}`;
}

function byPart(value: (part: PartName) => number): Readonly<Record<PartName, number>> {
  const made = { ...noParts };
  for (const part of partNames) made[part] = value(part);
  return made;
}

function quantileOf(values: readonly number[], quantile: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(quantile * sorted.length))] ?? 0;
}
