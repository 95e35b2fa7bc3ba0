import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import * as z from 'zod';
import { partitionKeys } from '../../../contracts/keys.js';

/** XINFO STREAM: names and values in turn. */
const streamInfo = z.array(z.unknown());

/**
 * Waits until more tasks of a model have left: they leave in batches, so a span reaches from the end of one to the end of
 * another.
 * @returns how many have left since the stream was made, and when that was seen, milliseconds
 */
export async function nextDone(client: Redis, model: string): Promise<{ tasks: number; at: number }> {
  const before = await tasksDone(client, model);
  for (const until = performance.now() + longestBatchMs; performance.now() < until;) {
    const tasks = await tasksDone(client, model);
    if (tasks > before) return { tasks, at: performance.now() };
    await sleep(2);
  }
  throw new Error(`nothing of ${model} leaves`);
}

const longestBatchMs = 5000;

/** Those that came, less those that are there. */
async function tasksDone(client: Redis, model: string): Promise<number> {
  const info = streamInfo.parse(await client.xinfo('STREAM', partitionKeys(model).tasks('normal')));
  return numberIn(info, 'entries-added') - numberIn(info, 'length');
}

function numberIn(info: readonly unknown[], name: string): number {
  return z.number().parse(info[info.indexOf(name) + 1]);
}
