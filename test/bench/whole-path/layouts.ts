import { availableParallelism } from 'node:os';

/** How the cores are shared out: so many sessions (each in a process or thread of its own), each run on so many threads. */
export interface Layout {
  readonly sessions: number;
  readonly threads: number;
}

/** One session on all cores; two and four that share them, where there are as many. */
export function layouts(cores = availableParallelism()): readonly Layout[] {
  return [1, 2, 4]
    .filter((sessions) => sessions <= cores)
    .map((sessions) => ({ sessions, threads: Math.floor(cores / sessions) }));
}

/** In words, for tables. */
export const layoutName = ({ sessions, threads }: Layout) => `${String(sessions)} × ${String(threads)} threads`;
