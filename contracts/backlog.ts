import * as z from 'zod';
import { consumerGroup, partitionKeys } from './keys.js';
import type { StreamClient } from './scripts/scripts.js';
import type { Lane } from './task.js';

/** What a model's stream holds now. */
export interface Backlog {
  /** Waiting and pending together. */
  readonly entries: number;
  readonly pending: number;
  /** Entries that ever left the stream; its growth is how many tasks end. */
  readonly left: number;
  /** Dead letters. */
  readonly dead: number;
}

/** The only lane that is written. */
const lane: Lane = 'normal';
const infoSchema = z.array(z.unknown());

/** Reads a model's backlog; of a stream that there is not yet all is 0. */
export async function readBacklog(client: StreamClient, model: string): Promise<Backlog> {
  const keys = partitionKeys(model);
  const stream = keys.tasks(lane);
  const [entries, pending, added, dead] = await Promise.all([
    client.xlen(stream),
    unlessMissing(client.xpending(stream, consumerGroup).then(([count]) => Number(count))),
    unlessMissing(client.xinfo('STREAM', stream).then(entriesAdded)),
    client.xlen(keys.dead),
  ]);
  return { entries, pending, left: Math.max(0, added - entries), dead };
}

async function unlessMissing(count: Promise<number>): Promise<number> {
  try {
    return await count;
  } catch (error) {
    if (error instanceof Error && /^(NOGROUP|ERR no such key)/.test(error.message)) return 0;
    throw error;
  }
}

function entriesAdded(info: unknown): number {
  const list = infoSchema.parse(info);
  return Number(list[list.indexOf('entries-added') + 1]);
}
