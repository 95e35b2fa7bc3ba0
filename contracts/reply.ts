import type { Buffer } from 'node:buffer';
import * as z from 'zod';
import { joinFrame, splitFrame } from './framing.js';

/** One task's result on its way to an edge; `result` is as encodeResult wrote it. */
export interface Reply {
  readonly id: string;
  readonly result: Buffer;
}

const replyHeadSchema = z.array(z.tuple([z.string(), z.int().nonnegative()]));

/** One message for all results of a batch that one edge waits for. */
export function encodeReplies(replies: readonly Reply[]): Buffer {
  return joinFrame(
    replies.map((reply) => [reply.id, reply.result.length]),
    replies.map((reply) => reply.result),
  );
}

/** Reads a message; one in another form holds no replies (the stored result will tell the waiter). */
export function decodeReplies(message: Buffer): readonly Reply[] {
  const frame = splitFrame(message);
  const head = frame && replyHeadSchema.safeParse(frame.head);
  if (!frame || !head?.success) return [];
  let offset = 0;
  const replies = head.data.map(([id, length]) => {
    const result = frame.body.subarray(offset, offset + length);
    offset += length;
    return { id, result };
  });
  // Half a result would be taken for a whole one.
  return offset === frame.body.length ? replies : [];
}
