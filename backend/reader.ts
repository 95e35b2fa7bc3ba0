import type { Redis } from 'ioredis';
import * as z from 'zod';
import { consumerGroup } from '../contracts/keys.js';

/** An entry as it was read: its fields are names and values in turn. */
export interface RawEntry {
  readonly stream: string;
  readonly entryId: string;
  readonly fields: readonly string[];
}

const readReply = z
  .array(z.tuple([z.string(), z.array(z.tuple([z.string(), z.array(z.string()).nullable()]))]))
  .nullable();

/** Milliseconds a read blocks at most while there is nothing to read. */
export const blockMs = 1000;

/** Creates the group of a stream where it does not exist, from the start of the stream. */
export async function ensureGroup(client: Redis, stream: string): Promise<void> {
  try {
    await client.xgroup('CREATE', stream, consumerGroup, '0', 'MKSTREAM');
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('BUSYGROUP'))) throw error;
  }
}

/**
 * Reads new entries, at most `count` from each stream; blocks while there are none.
 * Streams or groups that vanished (a flush, a failover) are made again, which counts as having read nothing.
 * @param blocking a connection that does nothing else
 * @param block milliseconds to block for at most
 */
export async function readNew(
  blocking: Redis,
  consumer: string,
  streams: readonly string[],
  count: number,
  block = blockMs,
): Promise<readonly RawEntry[]> {
  const from = streams.map(() => '>');
  try {
    const reply = readReply.parse(
      await blocking.xreadgroup(
        'GROUP',
        consumerGroup,
        consumer,
        'COUNT',
        count,
        'BLOCK',
        block,
        'STREAMS',
        ...streams,
        ...from,
      ),
    );
    return (reply ?? []).flatMap(([stream, entries]) =>
      entries.map(([entryId, fields]) => ({ stream, entryId, fields: fields ?? [] })),
    );
  } catch (error) {
    if (!isVanished(error)) throw error;
    for (const stream of streams) await ensureGroup(blocking, stream);
    return [];
  }
}

/** Whether an error says that a stream or its group is not there (any more). */
export function isVanished(error: unknown): boolean {
  return error instanceof Error && /^(NOGROUP|UNBLOCKED|ERR no such key)/.test(error.message);
}
