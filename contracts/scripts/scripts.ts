import type { Buffer } from 'node:buffer';
import type { Callback, ClientContext, Redis, Cluster, Result as Reply } from 'ioredis';
import * as z from 'zod';
import { encodeSpec } from '../entry.js';
import { Failure } from '../failure.js';
import { consumerGroup, partitionKeys } from '../keys.js';
import { parseTaskId, taskFormat, type Lane, type TaskSpec } from '../task.js';
import { scriptSources } from './sources.generated.js';

declare module 'ioredis' {
  interface RedisCommander<Context extends ClientContext> {
    sampanEnqueue(...args: (string | number | Buffer)[]): Reply<unknown, Context>;
    sampanLeave(...args: (string | number | Buffer | Callback<unknown>)[]): Reply<unknown, Context>;
    sampanRenew(...args: (string | number)[]): Reply<unknown, Context>;
    sampanRetire(...args: (string | number)[]): Reply<unknown, Context>;
  }
}

/** A connection to the stream role. */
export type StreamClient = Redis | Cluster;

/** Teaches a client the four state changes; every other function here needs a client that was taught. */
export function defineScripts<Client extends StreamClient>(client: Client): Client {
  client.defineCommand('sampanEnqueue', { numberOfKeys: 5, lua: scriptSources.enqueue });
  client.defineCommand('sampanLeave', { numberOfKeys: 5, lua: scriptSources.leave });
  client.defineCommand('sampanRenew', { numberOfKeys: 1, lua: scriptSources.renew });
  client.defineCommand('sampanRetire', { numberOfKeys: 1, lua: scriptSources.retire });
  return client;
}

/** Most tasks and bytes of one model's partition that may be admitted at a time. */
export interface AdmissionLimits {
  readonly maxTasks: number;
  readonly maxBytes: number;
}

export interface EnqueueRequest {
  readonly id: string;
  readonly spec: TaskSpec;
  readonly work: string;
  readonly image: Buffer;
  readonly edge: string;
  /** Milliseconds until the deadline. */
  readonly timeLeftMs: number;
  readonly traceparent: string;
  readonly limits: AdmissionLimits;
}

/** `deadline` is in milliseconds of Redis's clock; `tasks` is how many are admitted now. */
export type Enqueued =
  | { readonly how: 'admitted' | 'joined'; readonly id: string; readonly tasks: number; readonly deadline: number }
  | { readonly how: 'shed'; readonly limit: 'count' | 'bytes'; readonly tasks: number };

const enqueuedReply = z.union([
  z.tuple([z.enum(['admitted', 'joined']), z.string(), z.number(), z.number()]),
  z.tuple([z.literal('shed'), z.enum(['count', 'bytes']), z.number()]),
]);

/** Joins equal work in flight, else admits or sheds; see enqueue.lua. */
export async function enqueue(client: StreamClient, request: EnqueueRequest): Promise<Enqueued> {
  const { id, spec, work, image, edge, timeLeftMs, traceparent, limits } = request;
  const keys = partitionKeys(spec.model);
  const reply = enqueuedReply.parse(
    await client.sampanEnqueue(
      keys.tasks(spec.lane),
      keys.task(id),
      keys.work,
      keys.load,
      keys.result(id),
      id,
      image,
      encodeSpec(spec),
      spec.sha256,
      work,
      spec.tenant,
      edge,
      Math.max(0, Math.ceil(timeLeftMs)),
      traceparent,
      limits.maxTasks,
      limits.maxBytes,
      taskFormat,
    ),
  );
  if (reply[0] === 'shed') return { how: 'shed', limit: reply[1], tasks: reply[2] };
  return { how: reply[0], id: reply[1], tasks: reply[2], deadline: reply[3] };
}

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

const leftReply = z.union([
  z.tuple([z.literal('gone')]),
  z.tuple([z.literal('shared'), z.number()]),
  z.tuple([z.literal('left')]).rest(z.string()),
]);

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
    keys.tasks(lane),
    keys.task(taskId),
    keys.work,
    keys.load,
    keys.result(taskId),
    consumerGroup,
    taskId,
    reason,
    entryId,
    result,
    keepResultMs,
  ];
}

function readLeft(reply: unknown): Left {
  const [how, ...rest] = leftReply.parse(reply);
  if (how === 'left') return { how, edges: rest.map(String) };
  return how === 'shared' ? { how, waiters: Number(rest[0]) } : { how };
}

/** Removes an entry that names no task; there is nothing else to settle. */
export async function discardEntry(client: StreamClient, stream: string, entryId: string): Promise<void> {
  await client.multi().xack(stream, consumerGroup, entryId).xdel(stream, entryId).exec();
}

/** Restarts the lease of entries that are still this consumer's; answers their ids. See renew.lua. */
export async function renew(
  client: StreamClient,
  stream: string,
  consumer: string,
  entryIds: readonly string[],
): Promise<readonly string[]> {
  return z.array(z.string()).parse(await client.sampanRenew(stream, consumerGroup, consumer, ...entryIds));
}

/** Removes a consumer that holds nothing from a stream's group; answers whether it is gone. See retire.lua. */
export async function retire(client: StreamClient, stream: string, consumer: string): Promise<boolean> {
  return (await client.sampanRetire(stream, consumerGroup, consumer)) === 1;
}
