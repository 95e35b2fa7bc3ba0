import { createHash } from 'node:crypto';
import { Failure } from '../contracts/failure.js';
import type { TaskKind } from '../contracts/model.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import { claimKey, look, submit, withdraw, type Seen } from '../contracts/scripts/submission.js';
import { newTaskId, parseTaskId } from '../contracts/task.js';
import type { Order } from './crossing.js';
import { cancelTask, send, streamUnavailable, type SendDeps, type Taken } from './send.js';
import type { Waiter } from './waiter.js';

/** Requests whose callers come back for their results. Another tenant's do not exist. */
export interface Submissions {
  /**
   * The id that an Idempotency-Key stands for, within its tenant.
   * @param asked what is asked for, to be compared
   * @throws Failure idempotency_mismatch | stream_unavailable
   */
  idFor(model: string, tenant: string, key: string | undefined, asked: string): Promise<string>;
  /**
   * Enqueues a task and records that its caller comes back; both may be done again.
   * @throws Failure overloaded | stream_unavailable
   */
  accept(order: Order, id: string, kind: TaskKind): Promise<Taken>;
  /** @throws Failure task_not_found | stream_unavailable */
  look(id: string, tenant: string): Promise<Seen>;
  /**
   * The same once its task has ended, or when the time is over.
   * @throws Failure task_not_found | stream_unavailable
   */
  lookWithin(id: string, tenant: string, waitMs: number, signal: AbortSignal): Promise<Seen>;
  /** What has ended stays as it is. @throws Failure task_not_found | stream_unavailable */
  cancel(id: string, tenant: string): Promise<void>;
}

export interface SubmissionsDeps extends SendDeps {
  readonly client: StreamClient;
  readonly waiter: Waiter;
  /** This edge's own name, by which it is told that tasks ended. */
  readonly edge: string;
  /** Milliseconds that results are kept. */
  readonly keepMs: number;
  /** Milliseconds that a request may take. */
  readonly longestMs: number;
}

/** The only lane that is written. */
const lane = 'normal';

export function createSubmissions(deps: SubmissionsDeps): Submissions {
  const { client, waiter, edge, keepMs } = deps;
  const see = async (id: string, tenant: string, told: string): Promise<Seen> => {
    if (!parseTaskId(id)) throw notFound();
    const seen = await orUnavailable(look(client, { id, lane }, told));
    if (seen?.tenant !== tenant) throw notFound();
    return seen;
  };
  return {
    idFor: async (model, tenant, key, asked) => {
      const id = newTaskId(model);
      if (key === undefined) return id;
      const claim = { id, tenant, digest: shortDigest(key), keepMs: keepMs + deps.longestMs };
      const claimed = await orUnavailable(claimKey(client, claim, shortDigest(asked)));
      if (claimed.asked === shortDigest(asked)) return claimed.id;
      throw new Failure('idempotency_mismatch', 'another picture, or other parameters, came with this key before');
    },
    accept: async (order, id, kind) => {
      const { tenant } = order.spec;
      const taken = await send(deps, order, id);
      try {
        await submit(client, { id, tenant, kind, taskId: taken.id, deadline: taken.deadline, keepMs });
        return taken;
      } catch (error) {
        // Whether it was recorded is not known, so the task stays: sent again under its key it is found.
        throw streamUnavailable(error);
      }
    },
    look: (id, tenant) => see(id, tenant, ''),
    lookWithin: async (id, tenant, waitMs, signal) => {
      const seen = await see(id, tenant, edge);
      if (!('position' in seen) || waitMs <= 0) return seen;
      const expectation = waiter.expect(id);
      // It may have ended since it was looked at: what is stored is looked for at once.
      expectation.follow(seen.taskId);
      await expectation.end(waitMs, signal);
      return see(id, tenant, '');
    },
    cancel: async (id, tenant) => {
      const parts = parseTaskId(id);
      if (!parts) throw notFound();
      const withdrawn = await orUnavailable(withdraw(client, id, tenant));
      if (withdrawn.how === 'none') throw notFound();
      if (withdrawn.how !== 'cancelled') return;
      await orUnavailable(cancelTask(client, { model: parts.model, lane }, withdrawn.taskId));
    },
  };
}

async function orUnavailable<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    throw streamUnavailable(error);
  }
}

function notFound(): Failure {
  return new Failure('task_not_found', 'it was never accepted, is not yours, or its result is kept no longer');
}

function shortDigest(text: string): string {
  return createHash('sha256').update(text).digest('base64url');
}
