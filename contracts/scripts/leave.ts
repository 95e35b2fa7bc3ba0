import type { Buffer } from 'node:buffer';
import { Failure } from '../failure.js';
import { consumerGroup, partitionKeys } from '../keys.js';
import { parseTaskId, type Lane } from '../task.js';
import { isList, type StreamClient } from './scripts.js';

export type LeaveReason = 'succeeded' | 'failed' | 'cancelled' | 'expired' | 'dead';

export interface LeaveRequest {
  readonly taskId: string;
  readonly lane: Lane;
  readonly reason: LeaveReason;
  /** The entry that was delivered, where the caller holds one. */
  readonly entryId?: string;
  /** As encodeResult wrote it; without one nothing is stored. */
  readonly result?: Buffer;
  readonly keepResultMs: number;
}

export type Left =
  | { readonly how: 'left'; readonly edges: readonly string[] }
  | { readonly how: 'gone' }
  | { readonly how: 'shared'; readonly waiters: number };

/** Ends a task for any reason; see leave.lua. */
export async function leave(client: StreamClient, request: LeaveRequest): Promise<Left> {
  return readLeft(await client.sampanLeave(...leaveArguments(request)));
}

/**
 * Ends several tasks of one partition in one round trip.
 * @returns per request, in order, what became of it, or the error Redis gave for it
 * @throws where the pipeline as a whole failed
 */
export async function leaveAll(
  client: StreamClient,
  requests: readonly LeaveRequest[],
): Promise<readonly (Left | Error)[]> {
  const pipeline = client.pipeline();
  for (const request of requests) pipeline.sampanLeave(...leaveArguments(request));
  const replies = await pipeline.exec();
  return (replies ?? []).map(([error, reply]) => error ?? readLeft(reply));
}

function leaveArguments(request: LeaveRequest): (string | number | Buffer)[] {
  const { taskId, lane, reason, entryId = '', result = '', keepResultMs } = request;
  const parts = parseTaskId(taskId);
  if (!parts) throw new Failure('task_unreadable', 'not a task id');
  const keys = partitionKeys(parts.model, parts.partition);
  return [
    ...[keys.tasks(lane), keys.task(taskId), keys.image(taskId), keys.work, keys.load, keys.result(taskId)],
    ...[consumerGroup, reason, entryId, result, keepResultMs],
  ];
}

function readLeft(reply: unknown): Left {
  const [how, ...rest]: readonly unknown[] = isList(reply) ? reply : [];
  if (how === 'left') return { how, edges: rest.map(String) };
  if (how === 'gone') return { how };
  if (how === 'shared') return { how, waiters: Number(rest[0]) };
  throw new Error('the script leave answered in a form that is not known');
}
