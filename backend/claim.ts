import type { Redis } from 'ioredis';
import * as z from 'zod';
import { consumerGroup, registerKey } from '../contracts/keys.js';
import { letGo, retire } from '../contracts/scripts/scripts.js';
import { isVanished, type RawEntry } from './reader.js';

/** Entries whose leases had run out. */
export interface Claimed {
  readonly entries: readonly RawEntry[];
  /** Ids of entries that were deleted while they were pending; Redis has taken them off the list. */
  readonly deleted: readonly string[];
}

const claimReply = z.tuple([
  z.string(),
  z.array(z.tuple([z.string(), z.array(z.string()).nullable()]).nullable()),
  z.array(z.string()),
]);

/** More than a consumer ever holds of one stream. */
const mostOfOneConsumer = 4096;

/** Pages that are looked through at a time; what lies behind them is found the next time. */
const mostPages = 16;

/**
 * Claims at most `count` entries of a stream that have been silent for so long, whoever held them.
 * @throws where Redis does not answer and nothing has been claimed yet
 */
export async function claimSilent(
  client: Redis,
  stream: string,
  consumer: string,
  silentMs: number,
  count: number,
): Promise<Claimed> {
  const entries: RawEntry[] = [];
  const deleted: string[] = [];
  // Redis claims ten times as slowly as it finds out that there is nothing to claim.
  let cursor = await firstSilent(client, stream, silentMs);
  for (let page = 0; cursor !== undefined && entries.length < count && page < mostPages; page++) {
    try {
      const left = count - entries.length;
      const reply = await client.xautoclaim(stream, consumerGroup, consumer, silentMs, cursor, 'COUNT', left);
      const [next, claimed, gone] = claimReply.parse(reply);
      for (const entry of claimed) {
        if (entry) entries.push({ stream, entryId: entry[0], fields: entry[1] ?? [] });
      }
      deleted.push(...gone);
      cursor = next === '0-0' ? undefined : next;
    } catch (error) {
      // What was claimed is ours, and must be taken in.
      if (entries.length + deleted.length > 0 || isVanished(error)) break;
      throw error;
    }
  }
  return { entries, deleted };
}

async function firstSilent(client: Redis, stream: string, silentMs: number): Promise<string | undefined> {
  const rows = await client.xpending(stream, consumerGroup, 'IDLE', silentMs, '-', '+', 1).catch((error: unknown) => {
    if (isVanished(error)) return [];
    throw error;
  });
  const [row] = rows;
  return Array.isArray(row) ? String(row[0]) : undefined;
}

/** Lets go of what an earlier life of this consumer held: a process that begins under its name knows that it has ended. */
export async function letPastGo(client: Redis, stream: string, consumer: string): Promise<void> {
  const rows = await client.xpending(stream, consumerGroup, '-', '+', mostOfOneConsumer, consumer);
  const entryIds = rows.flatMap((row) => (Array.isArray(row) ? [String(row[0])] : []));
  if (entryIds.length > 0) await letGo(client, stream, consumer, entryIds);
}

/**
 * Takes consumers out of the group that are dead: not in the register, silent for a lease, and holding nothing.
 * @returns their names
 */
export async function retireDead(client: Redis, stream: string, consumer: string, leaseMs: number): Promise<string[]> {
  const consumers = await consumersOf(client, stream);
  const retired: string[] = [];
  for (const { name, pending, idle } of consumers) {
    if (name === consumer || pending > 0 || idle < leaseMs) continue;
    if ((await client.exists(registerKey(name))) === 1) continue;
    if (await retire(client, stream, name)) retired.push(name);
  }
  return retired;
}

const consumerRow = z.object({ name: z.string(), pending: z.number(), idle: z.number() });

async function consumersOf(client: Redis, stream: string): Promise<z.infer<typeof consumerRow>[]> {
  const rows = await client.xinfo('CONSUMERS', stream, consumerGroup).catch((error: unknown) => {
    if (isVanished(error)) return [];
    throw error;
  });
  return z.array(z.array(z.unknown())).parse(rows).map(readRow);
}

/** Redis tells rows as name, value, name, value, … */
function readRow(row: readonly unknown[]): z.infer<typeof consumerRow> {
  const pairs = row.flatMap((name, i) => (i % 2 === 0 ? [[String(name), row[i + 1]]] : []));
  return consumerRow.parse(Object.fromEntries(pairs));
}
