import type { Buffer } from 'node:buffer';
import { encodeDeadLetter, type DeadLetter } from '../dead-letter.js';
import { consumerGroup, partitionKeys } from '../keys.js';
import type { Lane } from '../task.js';
import { isList, type StreamClient } from './scripts.js';

/** Why a task leaves; one that is dead leaves a letter behind. */
export type LeaveReason = 'succeeded' | 'failed' | 'cancelled' | 'expired' | 'dead';

/** One task that ends. */
export interface Leaving {
  readonly taskId: string;
  readonly reason: LeaveReason;
  /** Of a task that is dead, and of no other. */
  readonly deadLetter?: DeadLetter | undefined;
  /** The entry that was delivered, where the caller holds one. */
  readonly entryId?: string;
  /** As encodeResult wrote it; without one nothing is stored. */
  readonly result?: Buffer;
}

/** Where the tasks of one call belong: they share a model's partition and a lane. */
export interface LeavingFrom {
  readonly model: string;
  readonly partition?: number;
  readonly lane: Lane;
  /** Milliseconds that their results are kept. */
  readonly keepResultMs: number;
  /** Milliseconds that dead letters and their images are kept; a day by default. */
  readonly keepDeadMs?: number;
}

const dayMs = 86_400_000;

/** What became of a task: it left now, it had left before, or others still wait for it. */
export type Left =
  { readonly how: 'left'; readonly edges: readonly string[] } | { readonly how: 'gone' } | { readonly how: 'shared' };

/** Lua takes so many arguments in one call of its own. */
const mostAtOnce = 1000;

/**
 * Ends tasks for any reason, in one round trip; see leave.lua. Doing it again is safe: what has left is found gone.
 * @returns per task, in order, what became of it
 * @throws where Redis refuses, or answers in a form that is not known
 */
export async function leave(
  client: StreamClient,
  from: LeavingFrom,
  tasks: readonly Leaving[],
): Promise<readonly Left[]> {
  if (tasks.length > mostAtOnce) {
    const first = await leave(client, from, tasks.slice(0, mostAtOnce));
    return [...first, ...(await leave(client, from, tasks.slice(mostAtOnce)))];
  }
  const keys = partitionKeys(from.model, from.partition);
  const keyList = [keys.tasks(from.lane), keys.work, keys.load, keys.dead];
  const argumentList: (string | number | Buffer)[] = [consumerGroup, from.keepResultMs];
  const letters: string[] = [];
  for (const { taskId, reason, deadLetter, entryId = '', result = '' } of tasks) {
    keyList.push(keys.task(taskId), keys.image(taskId), keys.result(taskId));
    argumentList.push(reason, entryId, result);
    if ((reason === 'dead') !== (deadLetter !== undefined)) throw new Error('a dead task, and no other, has a letter');
    if (deadLetter) letters.push(encodeDeadLetter(deadLetter));
  }
  if (letters.length > 0) argumentList.push(from.keepDeadMs ?? dayMs, ...letters);
  const reply = await client.sampanLeave(keyList.length, ...keyList, ...argumentList);
  if (!isList(reply) || reply.length !== tasks.length) throw new Error('the script leave answered for other tasks');
  return reply.map(readLeft);
}

function readLeft(end: unknown): Left {
  const [how, ...edges] = String(end).trimEnd().split(' ');
  if (how === 'left') return { how, edges };
  if (how === 'gone' || how === 'shared') return { how };
  throw new Error('the script leave answered in a form that is not known');
}
