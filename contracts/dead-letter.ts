import * as z from 'zod';
import { failures, isFailureCode, type FailureCode } from './failure.js';
import { taskSpecSchema } from './task.js';

/** What is kept of a task that was given up; its image is kept beside it until the retention ends. */
export const deadLetterSchema = z.strictObject({
  v: z.literal(1),
  taskId: z.string(),
  /** Why it was given up. */
  code: z.custom<FailureCode>(isFailureCode, `one of ${Object.keys(failures).length} failure codes`),
  reason: z.string(),
  /** How often its entry was delivered. */
  deliveries: z.int().nonnegative(),
  /** The consumer that gave it up. */
  consumer: z.string(),
  traceparent: z.string(),
  spec: taskSpecSchema,
});
export type DeadLetter = z.infer<typeof deadLetterSchema>;

/** The one field of an entry of the stream of dead letters. */
export const deadLetterField = 'letter';

export function encodeDeadLetter(letter: DeadLetter): string {
  return JSON.stringify(letter);
}

/** Reads the fields of an entry of the stream of dead letters; undefined where they are in another form. */
export function decodeDeadLetter(fields: readonly string[]): DeadLetter | undefined {
  const [name, text = ''] = fields;
  if (name !== deadLetterField) return undefined;
  try {
    return deadLetterSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
