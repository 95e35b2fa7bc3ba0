import type { Buffer } from 'node:buffer';
import { partitionKeys } from '../contracts/keys.js';
import { decodeReplies } from '../contracts/reply.js';
import { decodeResult, type Result } from '../contracts/result.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import { parseTaskId } from '../contracts/task.js';

/** Why a wait ended without a result: at the deadline, or because the client has gone. */
export type Unmet = 'deadline' | 'aborted';
export type WaitEnd = Result | Unmet;

/** One request's promise of a result. */
export interface Expectation {
  /** Waits on for another task, the one that the request joined, and looks whether its result is there already. */
  follow(taskId: string): void;
  /** Resolves once, at the latest after `timeLeftMs`. */
  end(timeLeftMs: number, signal?: AbortSignal): Promise<WaitEnd>;
  /** Stops waiting; what `end` gave resolves as aborted. */
  forget(): void;
}

/** All requests of one edge that wait, by task id, until their results are there. */
export interface Waiter {
  /** Must be called before the task can be seen by a consumer, or a fast reply is missed. */
  expect(taskId: string): Expectation;
  /** Takes a message of the edge's reply channel. */
  receive(message: Buffer): void;
  /** Reads the stored result of everything that waits: replies may have been missed. */
  checkAll(): void;
  /** How many requests wait now. */
  readonly waiting: number;
  close(): void;
}

export interface WaiterDeps {
  /** Reads stored results. */
  readonly client: StreamClient;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
}

interface Waiting {
  taskId: string;
  resolve: (end: WaitEnd) => void;
  /** When the stored result is read again. */
  checkAt: number;
  checkEveryMs: number;
}

const sweepMs = 500;
const firstCheckMs = 1000;
const rarestCheckMs = 8000;
const mostChecksAtOnce = 1000;

/** Results come by message; now and then, and whenever messages may have been missed, the stored ones are read. */
export function createWaiter({ client, now }: WaiterDeps): Waiter {
  const byTask = new Map<string, Set<Waiting>>();
  let waiting = 0;

  const add = (one: Waiting) => {
    const others = byTask.get(one.taskId);
    if (others) others.add(one);
    else byTask.set(one.taskId, new Set([one]));
    waiting++;
  };
  const remove = (one: Waiting) => {
    const others = byTask.get(one.taskId);
    if (!others?.delete(one)) return;
    waiting--;
    if (others.size === 0) byTask.delete(one.taskId);
  };
  const deliver = (taskId: string, result: Buffer) => {
    const those = byTask.get(taskId);
    if (!those) return;
    const decoded = decodeResult(result);
    for (const one of those) one.resolve(decoded);
  };
  /** Reads stored results; what is not there, or cannot be read now, is asked for again later. */
  const check = async (taskIds: readonly string[]) => {
    await Promise.all(
      taskIds.map(async (taskId) => {
        const stored = await readStored(client, taskId).catch(() => null);
        if (stored) deliver(taskId, stored);
      }),
    );
  };

  const sweep = setInterval(() => void check(dueTasks(byTask, now())), sweepMs);
  sweep.unref();

  return {
    expect: (taskId) => expectation(taskId, { add, remove, check, now }),
    receive: (message) => {
      for (const reply of decodeReplies(message)) deliver(reply.id, reply.result);
    },
    checkAll: () => void check([...byTask.keys()]),
    get waiting() {
      return waiting;
    },
    close: () => clearInterval(sweep),
  };
}

/** Reads a task's stored result; null where there is none. */
export async function readStored(client: StreamClient, taskId: string): Promise<Buffer | null> {
  const parts = parseTaskId(taskId);
  return parts ? client.getBuffer(partitionKeys(parts.model, parts.partition).result(taskId)) : null;
}

function dueTasks(byTask: ReadonlyMap<string, ReadonlySet<Waiting>>, now: number): string[] {
  const due: string[] = [];
  for (const [taskId, those] of byTask) {
    if (due.length >= mostChecksAtOnce) break;
    let isDue = false;
    for (const one of those) {
      if (one.checkAt > now) continue;
      isDue = true;
      one.checkEveryMs = Math.min(rarestCheckMs, one.checkEveryMs * 2);
      one.checkAt = now + one.checkEveryMs;
    }
    if (isDue) due.push(taskId);
  }
  return due;
}

interface Registry {
  readonly add: (one: Waiting) => void;
  readonly remove: (one: Waiting) => void;
  readonly check: (taskIds: readonly string[]) => Promise<void>;
  readonly now: () => number;
}

function expectation(taskId: string, { add, remove, check, now }: Registry): Expectation {
  let resolve: (end: WaitEnd) => void = () => undefined;
  const ended = new Promise<WaitEnd>((settle) => (resolve = settle));
  const one: Waiting = { taskId, resolve, checkAt: now() + firstCheckMs, checkEveryMs: firstCheckMs };
  add(one);
  return {
    follow: (other) => {
      remove(one);
      one.taskId = other;
      add(one);
      // The reply may have come before this request was known to wait for it.
      void check([other]);
    },
    end: async (timeLeftMs, signal) => {
      const timer = setTimeout(resolve, Math.max(0, timeLeftMs), 'deadline');
      const abort = () => resolve('aborted');
      if (signal?.aborted) abort();
      signal?.addEventListener('abort', abort, { once: true });
      try {
        return await ended;
      } finally {
        clearTimeout(timer);
        signal?.removeEventListener('abort', abort);
        remove(one);
      }
    },
    forget: () => {
      remove(one);
      resolve('aborted');
    },
  };
}
