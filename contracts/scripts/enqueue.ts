import type { Buffer } from 'node:buffer';
import * as z from 'zod';
import { encodeEntry, shortSha256 } from '../entry.js';
import { partitionKeys } from '../keys.js';
import type { Lane, TaskSpec } from '../task.js';
import type { StreamClient } from './scripts.js';
import { scriptSources } from './sources.generated.js';

/** Most tasks and bytes of one model's partition that may be admitted at a time. */
export interface AdmissionLimits {
  readonly maxTasks: number;
  readonly maxBytes: number;
}

/** What one tenant may take of a model's backlog with tasks whose callers do not wait one by one. */
export interface Share {
  /** Most of its tasks that may be admitted; 0 for any number. */
  readonly tasks: number;
  /** Milliseconds that the backlog before them may take; 0 where their deadlines alone count. */
  readonly waitMs: number;
}

/** One task that is sent. */
export interface Enqueueing {
  readonly id: string;
  readonly spec: TaskSpec;
  readonly work: string;
  readonly image: Buffer;
  /** Milliseconds until the deadline. */
  readonly timeLeftMs: number;
  readonly traceparent: string;
}

/** Where the tasks of one call go: they share a model's partition and a lane. */
export interface EnqueueingTo {
  readonly model: string;
  readonly partition?: number;
  readonly lane: Lane;
  /** The edge that waits for them. */
  readonly edge: string;
  readonly limits: AdmissionLimits;
  /** Left out for callers that wait one by one. */
  readonly share?: Share | undefined;
  /** Whether they come again by themselves where there is no room; then they are given no turn. */
  readonly comeAgain?: boolean;
  /** What the model's consumers do together; 0 where that is not known, and then nobody is shed for the wait. */
  readonly tasksPerSecond: number;
}

const noShare: Share = { tasks: 0, waitMs: 0 };

const shedLimits = ['count', 'bytes', 'wait', 'share'] as const;
export type ShedLimit = (typeof shedLimits)[number];

/**
 * `deadline` is in milliseconds of Redis's clock; `tasks` is how many are admitted now; `turnMs` is how long it takes
 * until there will be room for who was shed, after all who were shed before, or 0 where that is not known.
 */
export type Enqueued =
  | { readonly how: 'admitted'; readonly id: string; readonly tasks: number; readonly deadline: number }
  | {
      readonly how: 'joined';
      readonly id: string;
      readonly tasks: number;
      readonly deadline: number;
      /** Of the request whose task was joined; '' where it is not known. */
      readonly traceparent: string;
    }
  | { readonly how: 'shed'; readonly limit: ShedLimit; readonly tasks: number; readonly turnMs: number };

/**
 * Joins equal work in flight, else admits or sheds, for several tasks in one transaction; see enqueue.lua.
 * @returns per task, in order, what became of it
 * @throws where Redis refuses, or answers in a form that is not known; sending again is safe
 */
export async function enqueue(
  client: StreamClient,
  to: EnqueueingTo,
  tasks: readonly Enqueueing[],
): Promise<readonly Enqueued[]> {
  const keys = partitionKeys(to.model, to.partition);
  const images: (string | Buffer)[] = [];
  const keyList = [keys.tasks(to.lane), keys.work, keys.load];
  const { maxTasks, maxBytes } = to.limits;
  const { tasks: mostOfTenant, waitMs } = to.share ?? noShare;
  const turns = to.comeAgain ? 0 : 1;
  const argumentList: (string | number)[] = [to.edge, maxTasks, maxBytes, to.tasksPerSecond];
  argumentList.push(mostOfTenant, waitMs, turns);
  for (const task of tasks) {
    const { id, spec, image } = task;
    const timeLeftMs = Math.max(0, Math.ceil(task.timeLeftMs));
    images.push(keys.image(id), image);
    keyList.push(keys.task(id), keys.image(id), keys.result(id));
    const sha256 = shortSha256(spec.sha256);
    argumentList.push(id, sha256, task.work, spec.tenant, image.length, timeLeftMs);
    argumentList.push(encodeEntry({ taskId: id, spec, timeLeftMs, traceparent: task.traceparent }, sha256));
  }
  const replies = await transaction(client, images, [keyList.length, ...keyList, ...argumentList]);
  if (replies.length !== tasks.length) throw new Error('the script enqueue answered for other tasks');
  return replies.map(readEnqueued);
}

/** Sent command by command, not as the library's pipeline, which would copy all images once more. */
async function transaction(
  client: StreamClient,
  images: readonly (string | Buffer)[],
  scriptArguments: readonly (string | number)[],
): Promise<readonly string[]> {
  const send = async () => {
    const sent = [client.multi({ pipeline: false }), client.mset(...images), client.sampanEnqueue(...scriptArguments)];
    const [replies] = await Promise.all([client.exec(), ...sent]);
    return replies?.[1] ?? [new Error('the transaction gave no reply'), undefined];
  };
  let [error, reply] = await send();
  if (error?.message.startsWith('NOSCRIPT')) {
    // The library loads a script again where one command tells it to, but not from within a transaction.
    await client.script('LOAD', scriptSources.enqueue);
    [error, reply] = await send();
  }
  if (error) throw error;
  return z.array(z.string()).parse(reply);
}

function readEnqueued(reply: string): Enqueued {
  const [how, what, tasks, last, traceparent = ''] = reply.split(' ');
  if (what !== undefined) {
    const deadline = Number(last);
    if (how === 'admitted') return { how, id: what, tasks: Number(tasks), deadline };
    if (how === 'joined') return { how, id: what, tasks: Number(tasks), deadline, traceparent };
  }
  const limit = shedLimits.find((known) => known === what);
  if (how === 'shed' && limit) return { how, limit, tasks: Number(tasks), turnMs: Number(last) };
  throw new Error('the script enqueue answered in a form that is not known');
}
