import type { Redis } from 'ioredis';
import { consumerGroup } from '../contracts/keys.js';
import { isList } from '../contracts/scripts/scripts.js';

/** An entry as it was read: its fields are names and values in turn. */
export interface RawEntry {
  readonly stream: string;
  readonly entryId: string;
  readonly fields: readonly string[];
}

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
    return entriesOf(
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

/** What a read gives: streams, and in each its entries. @throws Error for a reply in another form */
function entriesOf(reply: unknown): readonly RawEntry[] {
  if (reply === null) return [];
  return listOf(reply).flatMap((part) => {
    const [stream, entries] = listOf(part);
    return listOf(entries).map((entry) => {
      const [entryId, fields] = listOf(entry);
      return { stream: textOf(stream), entryId: textOf(entryId), fields: listOf(fields).map(textOf) };
    });
  });
}

function listOf(part: unknown): readonly unknown[] {
  if (isList(part)) return part;
  throw new Error('a read was answered in a form that is not known');
}

function textOf(part: unknown): string {
  if (typeof part === 'string') return part;
  throw new Error('a read was answered in a form that is not known');
}
