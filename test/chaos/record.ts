import { readFileSync } from 'node:fs';
import * as z from 'zod';

/** What a client notes of one request, once, when it has ended. Times are milliseconds of the clients' clock. */
const recordSchema = z.strictObject({
  id: z.string(),
  /** Of the picture that was sent. */
  md5: z.string(),
  /**
   * Why this picture: nobody else's, one in flight, one answered before, one sent again since the edge was gone; nobody
   * else's, by a client that comes back for the answer, or sends several at once.
   */
  why: z.enum(['unique', 'joining', 'repeating', 'again', 'burst', 'later', 'batch']),
  edge: z.int(),
  sentAt: z.number(),
  deadlineMs: z.number(),
  endedAt: z.number(),
  /** broken: the connection failed. unanswered: nothing came, though the client waited past its deadline. */
  end: z.enum(['answered', 'aborted', 'broken', 'unanswered']),
  status: z.int().optional(),
  /** A failure's code. */
  code: z.string().optional(),
  retryable: z.boolean().optional(),
  cache: z.string().optional(),
  /** The task that answered. */
  task: z.string().optional(),
  /** What was wrong with an answer: another picture's, another request's, or not in the agreed form. */
  wrong: z.string().optional(),
  /** Why a connection failed. */
  error: z.string().optional(),
});
export type RequestRecord = z.infer<typeof recordSchema>;

/** Reads the clients' records. @throws ZodError where a line is not one */
export function readRecords(path: string): RequestRecord[] {
  return readFileSync(path, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => recordSchema.parse(JSON.parse(line)));
}
