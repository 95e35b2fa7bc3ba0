import * as z from 'zod';
import { deviceKindSchema } from '../../../contracts/model.js';

/** What a bare loop is started with. */
export const loopSettingsSchema = z.strictObject({
  modelDir: z.string(),
  model: z.string(),
  device: deviceKindSchema.exclude(['simulated']),
  deviceIndex: z.int().default(0),
  /** CPU threads of one session's run. */
  threads: z.int().min(1),
  /** Sessions side by side, each in a thread of its own. */
  sessions: z.int().min(1).default(1),
  /** Photos, in turns. */
  files: z.array(z.string()).min(1),
});
export type LoopSettings = z.input<typeof loopSettingsSchema>;

/** What it is told to do: all of the work, one of its halves, or all of it with one image at a time. */
export const loopOrderSchema = z.strictObject({
  what: z.enum(['whole', 'decode', 'infer', 'one-by-one']),
  images: z.coerce.number().int().min(1),
});
export type LoopOrder = z.infer<typeof loopOrderSchema>;

export const loopReportSchema = z.strictObject({
  images: z.int(),
  seconds: z.number(),
  /** Of one image, of those that went one by one. */
  p50Ms: z.number().optional(),
  p99Ms: z.number().optional(),
  batches: z.int().optional(),
  /** Seconds of all session runs together, over the number of sessions. */
  deviceSeconds: z.number().optional(),
});
export type LoopReport = z.infer<typeof loopReportSchema>;
