import type { Worker } from 'node:worker_threads';
import type { Numbered, WorkerAnswer, WorkerReply, WorkerRequest } from './session-messages.js';

/** A worker thread as something that can be asked. */
export interface WorkerChannel {
  /**
   * Sends a request; buffers named in `transfer` go with it.
   * @throws Error with the worker's reason, or because it died or was told to end
   */
  ask<Type extends WorkerAnswer['type']>(
    wanted: Type,
    request: WorkerRequest,
    transfer: ArrayBuffer[],
  ): Promise<AnswerOf<Type>>;
  /** Resolves if the thread dies without having been told to, after everything outstanding was rejected. */
  readonly failed: Promise<Error>;
  /** Takes no more requests, awaits those that are outstanding, then ends the thread. */
  end(): Promise<void>;
}

type AnswerOf<Type extends WorkerAnswer['type']> = Extract<WorkerAnswer, { type: Type }>;

interface Outstanding {
  resolve(reply: WorkerReply): void;
  reject(error: Error): void;
}

/** Turns a worker's messages into promises, and its death into their rejection. */
export function openChannel(worker: Worker): WorkerChannel {
  const outstanding = new Map<number, Outstanding>();
  const unsettled = new Set<Promise<unknown>>();
  let asked = 0;
  let ending = false;
  let death: Error | undefined;
  let reportFailure: (error: Error) => void = () => undefined;
  const failed = new Promise<Error>((resolve) => {
    reportFailure = resolve;
  });

  const die = (error: Error): void => {
    if (death !== undefined) return;
    death = error;
    for (const { reject } of outstanding.values()) reject(error);
    outstanding.clear();
    if (!ending) reportFailure(error);
  };
  worker.on('message', ({ id, content }: Numbered<WorkerReply>) => {
    outstanding.get(id)?.resolve(content);
    outstanding.delete(id);
  });
  worker.on('error', (cause) => {
    const reason = cause instanceof Error ? cause.message : String(cause);
    die(new Error(`the worker thread of the device failed: ${reason}`, { cause }));
  });
  worker.on('exit', (code) => {
    die(new Error(`the worker thread of the device ended with code ${String(code)}`));
  });

  const post = async (request: WorkerRequest, transfer: ArrayBuffer[]): Promise<WorkerReply> => {
    if (death !== undefined) throw death;
    if (ending) throw new Error('the device is closed');
    const id = asked++;
    const reply = new Promise<WorkerReply>((resolve, reject) => outstanding.set(id, { resolve, reject }));
    unsettled.add(reply);
    try {
      worker.postMessage({ id, content: request } satisfies Numbered<WorkerRequest>, transfer);
      return await reply;
    } finally {
      unsettled.delete(reply);
    }
  };

  return {
    failed,
    ask: async (wanted, request, transfer) => {
      const reply = await post(request, transfer);
      if (reply.type === 'refused') throw new Error(reply.reason);
      if (!isAnswer(reply, wanted)) throw new Error(`the worker answered ${reply.type} to ${request.type}`);
      return reply;
    },
    end: async () => {
      ending = true;
      // Terminating a thread in mid-run aborts the whole process.
      await Promise.allSettled(unsettled);
      await worker.terminate();
    },
  };
}

function isAnswer<Type extends WorkerAnswer['type']>(reply: WorkerReply, wanted: Type): reply is AnswerOf<Type> {
  return reply.type === wanted;
}
