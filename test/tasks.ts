import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import type { DeadLetter } from '../contracts/dead-letter.js';
import { canonicalParams } from '../contracts/params.js';
import { encodeResult } from '../contracts/result.js';
import {
  enqueue,
  type AdmissionLimits,
  type Enqueued,
  type Enqueueing,
  type EnqueueingTo,
} from '../contracts/scripts/enqueue.js';
import { leave, type Leaving, type Left } from '../contracts/scripts/leave.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import { consumerGroup, partitionKeys, type PartitionKeys } from '../contracts/keys.js';
import { newTaskId, taskFormat, workKey, type TaskSpec } from '../contracts/task.js';

/** What a test wants of a task; everything else is plain. */
export interface WantedTask {
  readonly model?: string;
  readonly image?: Uint8Array;
  /** Another MD5 than the image has: files of equal MD5 are hard to make. */
  readonly md5?: string;
  readonly tenant?: string;
  readonly edge?: string;
  readonly timeLeftMs?: number;
  readonly limits?: AdmissionLimits;
  readonly tasksPerSecond?: number;
  readonly id?: string;
}

export const unlimited: AdmissionLimits = { maxTasks: 1_000_000, maxBytes: 2 ** 40 };

export function specOf({
  model = 'toy',
  image = Buffer.from('an image'),
  md5,
  tenant = 'anonymous',
}: WantedTask = {}): TaskSpec {
  return {
    ...{ v: taskFormat, model, version: '1', tenant, scope: 'shared', tier: 'free', lane: 'normal', params: {} },
    md5: md5 ?? createHash('md5').update(image).digest('hex'),
    sha256: createHash('sha256').update(image).digest('hex'),
    bytes: image.length,
  };
}

/** One task and where it goes. */
export type EnqueueRequest = Enqueueing & Pick<EnqueueingTo, 'edge' | 'limits' | 'tasksPerSecond'>;

export function enqueueRequest(wanted: WantedTask = {}): EnqueueRequest {
  const { image = Buffer.from('an image'), edge = 'edge-1', timeLeftMs = 60_000, limits = unlimited } = wanted;
  const spec = specOf(wanted);
  return {
    ...{
      spec,
      edge,
      timeLeftMs,
      limits,
      tasksPerSecond: wanted.tasksPerSecond ?? 0,
      traceparent: '',
      image: Buffer.from(image),
    },
    id: wanted.id ?? newTaskId(spec.model),
    work: workKey(spec, canonicalParams(spec.params)),
  };
}

/** A result as a consumer would store it, with these predictions. */
export function resultBytes(predictions: string | Uint8Array = '[]'): Buffer {
  const timing = { queueMs: 1, decodeMs: 2, batchWaitMs: 0, inferMs: 3, batchSize: 1 };
  return encodeResult({ outcome: 'succeeded', version: '1', timing, predictions: Buffer.from(predictions) });
}

/** The keys of the model that tasks are of where nothing else is said. */
export const toyKeys: PartitionKeys = partitionKeys('toy');
export const toyStream = toyKeys.tasks('normal');

/** Takes entries for a consumer as XREADGROUP does, making the group where there is none; answers their ids. */
export async function deliver(client: Redis, consumer: string, count: number, stream = toyStream): Promise<string[]> {
  await client.xgroup('CREATE', stream, consumerGroup, '0', 'MKSTREAM').catch(() => undefined);
  const reply = await client.xreadgroup('GROUP', consumerGroup, consumer, 'COUNT', count, 'STREAMS', stream, '>');
  return (reply as [string, [string, string[]][]][] | null)?.flatMap(([, entries]) => entries.map(([id]) => id)) ?? [];
}

/** Ids of entries that were delivered and not acked, with the consumer that holds each. */
export async function pending(client: Redis, stream = toyStream): Promise<[id: string, consumer: string][]> {
  const rows = (await client.xpending(stream, consumerGroup, '-', '+', 1000)) as [string, string, number, number][];
  return rows.map(([id, consumer]) => [id, consumer]);
}

export function deadLetterOf(taskId: string): DeadLetter {
  return {
    ...{ v: 1, taskId, code: 'task_dead', reason: 'it ended its process', deliveries: 3, consumer: 'one' },
    ...{ traceparent: '', spec: specOf() },
  };
}

/** Ends one task of the toy model; as succeeded, and without a result, where nothing else is said. */
export async function leaveOne(client: StreamClient, taskId: string, how: Partial<Leaving> = {}): Promise<Left> {
  const from = { model: 'toy', lane: 'normal', keepResultMs: 60_000 } as const;
  const deadLetter = how.reason === 'dead' ? deadLetterOf(taskId) : undefined;
  const [left] = await leave(client, from, [{ taskId, reason: 'succeeded', deadLetter, ...how }]);
  if (!left) throw new Error('leave said nothing about the task');
  return left;
}

/** Sends one task alone. */
export async function enqueueOne(client: StreamClient, request: EnqueueRequest): Promise<Enqueued> {
  const { edge, limits, tasksPerSecond, ...task } = request;
  const { model, lane } = task.spec;
  const [enqueued] = await enqueue(client, { model, lane, edge, limits, tasksPerSecond }, [task]);
  if (!enqueued) throw new Error('enqueue said nothing about the task');
  return enqueued;
}

/** The task ids of entries, as XRANGE gives them. */
export function idsIn(entries: readonly [string, string[]][]): string[] {
  return entries.map(([, fields]) => String((JSON.parse(fields[1] ?? '{}') as { id?: unknown }).id));
}
