import * as z from 'zod';

/** One measured stretch: whose it was, at which point of the horizontal axis (if there is one), and its figures. */
export const roundSchema = z.strictObject({
  side: z.string(),
  /** Such as the number of callers, or the load in percent. */
  point: z.number().optional(),
  round: z.int(),
  values: z.record(z.string(), z.number()),
});
export type Round = z.infer<typeof roundSchema>;

/** What is promised of two sides, as one figure per round; met when their median is within the bound. */
export const goalSchema = z.strictObject({
  /** In words, with the bound: "CPU per request at most 1.5 × the bare route with GET". */
  promise: z.string(),
  perRound: z.array(z.number()).min(1),
  bound: z.union([z.strictObject({ atMost: z.number() }), z.strictObject({ atLeast: z.number() })]),
  /** What was measured in the same run that forbids more than there is; a goal that is not met then is not missed. */
  limit: z.string().optional(),
});
export type Goal = z.infer<typeof goalSchema>;

export const columnSchema = z.strictObject({
  /** A key of a round's values. */
  key: z.string(),
  /** With its unit: "CPU µs per request". */
  label: z.string(),
  digits: z.int().optional(),
});
export type Column = z.infer<typeof columnSchema>;

export const chartSchema = z.strictObject({
  /** Distinguishes charts of one bench; part of the file's name. */
  name: z.string(),
  title: z.string(),
  /** The column that is drawn: a bar per side, or with points a line per side. */
  key: z.string(),
  /** At which point, where bars of one point are wanted. */
  point: z.number().optional(),
  /** What the points are, with the unit; logarithmic where they span decades. */
  axis: z.string().optional(),
  logarithmic: z.boolean().optional(),
});
export type Chart = z.infer<typeof chartSchema>;

export const measuredSchema = z.strictObject({
  rounds: z.array(roundSchema),
  columns: z.array(columnSchema),
  goals: z.array(goalSchema),
  charts: z.array(chartSchema),
  /** What the parties went by: servers' settings, environment, sizes. */
  settings: z.record(z.string(), z.union([z.string(), z.number(), z.boolean()])),
  remarks: z.array(z.string()),
});
export type Measured = z.infer<typeof measuredSchema>;

export interface BenchOptions {
  readonly rounds: number;
  /** A small fraction of the work, to see that it runs; its figures prove nothing. */
  readonly quick: boolean;
  /** How long the soak goes on. */
  readonly soakMinutes: number;
  readonly say: (what: string) => void;
}

export interface Bench {
  readonly name: string;
  /** What is measured beside what, in a sentence. */
  readonly about: string;
  run(options: BenchOptions): Promise<Measured>;
}

/** A run whose figures would lie, such as one whose generator was saturated itself. */
export class VoidRun extends Error {}
