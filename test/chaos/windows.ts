import type { Life } from './part.js';
import type { Strike } from './schedule.js';
import { times } from './times.js';

/** A stretch of time, in milliseconds of the clients' clock. */
export interface Window {
  readonly from: number;
  readonly to: number;
}

export function overlap(a: Window, b: Window): boolean {
  return a.from <= b.to && b.from <= a.to;
}

/** A part as the account sees it. */
export interface PartHistory {
  readonly name: string;
  readonly lives: readonly Life[];
}

/** When a part was not there: from each end until it was ready again. */
export function awayWindows({ lives }: PartHistory): Window[] {
  return lives.flatMap((life, i) => {
    if (life.goneAt === undefined) return [];
    const next = lives.slice(i + 1).find(({ readyAt }) => readyAt !== undefined);
    // Its clients learn of a kill before its supervisor does.
    return [{ from: life.askedAt ?? life.goneAt, to: next?.readyAt ?? Infinity }];
  });
}

/** When answers may be out of the ordinary: during faults and restarts, and a little longer. */
export function disturbedWindows(strikes: readonly Strike[], parts: readonly PartHistory[]): Window[] {
  const faults = strikes
    .filter(({ disturbs }) => disturbs)
    .map(({ struckAt, endedAt }) => ({ from: struckAt, to: endedAt }));
  return [...faults, ...parts.flatMap(awayWindows)].map(({ from, to }) => ({ from, to: to + times.recoveryMs }));
}

/** When requests at an edge may have missed their deadlines. */
export function delayedWindows(strikes: readonly Strike[], edge: string): Window[] {
  return strikes
    .filter(
      ({ delays, parts }) =>
        delays === 'everybody' || (delays === 'struck' && parts.some((part) => part.name === edge)),
    )
    .map(({ struckAt, endedAt }) => ({ from: struckAt, to: endedAt + times.recoveryMs }));
}

/** When what was accepted before may have been lost. */
export function lossyWindows(strikes: readonly Strike[]): Window[] {
  return strikes.filter(({ loses }) => loses).map(({ struckAt, endedAt }) => ({ from: struckAt, to: endedAt }));
}
