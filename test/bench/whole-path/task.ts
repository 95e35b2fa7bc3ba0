import type { BenchOptions } from '../bench.js';
import type { Chosen } from './choose-settings.js';
import type { Material } from './parties.js';

/** Sizes of a run. */
export interface Sizes {
  /** Images that a side does at capacity, per round. */
  readonly images: number;
  readonly callers: number;
  /** Seconds of more load than can be borne, per round. */
  readonly overloadSeconds: number;
}

/** What is measured, with what, in which form. */
export interface Task {
  readonly material: Material;
  readonly sizes: Sizes;
  readonly options: BenchOptions;
  readonly chosen: Chosen;
}

/** The sides as the table calls them. */
export const sideNames = {
  ours: 'ours',
  loop: 'bare loop',
  queue: 'in-process queue',
  bounded: 'bounded in-process queue',
} as const;

/** A side while it gets twice what the queue can do. */
export const overloaded = (side: string) => `${side}, overloaded`;
