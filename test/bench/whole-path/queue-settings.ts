import * as z from 'zod';

/** What an in-process queue is started with. */
export const queueSettingsSchema = z.strictObject({
  modelDir: z.string(),
  model: z.string(),
  version: z.string(),
  /** CPU threads of a run; the runtime's default is all cores. */
  threads: z.int().min(1).optional(),
  /** Whether the runtime's threads spin between runs, which is its default. */
  spinning: z.boolean(),
  /** Batches under way at a time: with two, the next one is decoded while this thread waits for nothing. */
  atOnce: z.int().min(1),
  /** Requests that may be held; the rest is answered 503. Unbounded as in the articles where it is left out. */
  mostHeld: z.int().min(1).optional(),
});
export type QueueSettings = z.input<typeof queueSettingsSchema>;
