import { createHash } from 'node:crypto';
import { Failure } from '../contracts/failure.js';
import type { TaskKind } from '../contracts/model.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';
import { claimKey, look, submit, withdraw, type Seen } from '../contracts/scripts/submission.js';
import { newTaskId, parseTaskId } from '../contracts/task.js';
import type { Order } from './crossing.js';
import type { Clock } from './deps.js';
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
  accept(order: Order, asked: Accepting): Promise<Taken>;
  /** @throws Failure task_not_found | stream_unavailable */
  look(id: string, tenant: string): Promise<Seen>;
  /**
   * The same once its task has ended, when the time is over, or when this edge stops.
   * @throws Failure task_not_found | stream_unavailable
   */
  lookWithin(id: string, tenant: string, waitMs: number, signal: AbortSignal): Promise<Seen>;
  /** What has ended stays as it is. @throws Failure task_not_found | stream_unavailable */
  cancel(id: string, tenant: string): Promise<void>;
}

/** A request that is to be accepted. */
export interface Accepting {
  readonly id: string;
  readonly kind: TaskKind;
  /** Its Idempotency-Key. */
  readonly key: string | undefined;
}

export interface SubmissionsDeps extends SendDeps {
  readonly client: StreamClient;
  readonly waiter: Waiter;
  readonly clock: Clock;
  /** This edge's own name, by which it is told that tasks ended. */
  readonly edge: string;
  /** Milliseconds that results are kept. */
  readonly keepMs: number;
  /** Aborted when this edge stops. */
  readonly stopping: AbortSignal;
}

/** The only lane that is written. */
const lane = 'normal';
/** Milliseconds after which it is looked again: a cancellation, or a deadline, is told by nobody. */
const lookAgainMs = 1000;

export function createSubmissions(deps: SubmissionsDeps): Submissions {
  const { client, waiter, clock, edge, keepMs, stopping } = deps;
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
      const claim = { id, tenant, digest: shortDigest(key) };
      const claimed = await orUnavailable(claimKey(client, claim, shortDigest(asked)));
      if (claimed.asked === shortDigest(asked)) return claimed.id;
      throw new Failure('idempotency_mismatch', 'another picture, or other parameters, came with this key before');
    },
    accept: async (order, { id, kind, key }) => {
      const { tenant } = order.spec;
      const taken = await send(deps, order, id);
      const keyDigest = key === undefined ? undefined : shortDigest(key);
      try {
        await submit(client, { id, tenant, kind, taskId: taken.id, deadline: taken.deadline, keepMs, keyDigest });
        return taken;
      } catch (error) {
        // Whether it was recorded is not known, so the task stays: sent again under its key it is found.
        throw streamUnavailable(error);
      }
    },
    look: (id, tenant) => see(id, tenant, ''),
    lookWithin: async (id, tenant, waitMs, signal) => {
      const until = clock.now() + waitMs;
      let seen = await see(id, tenant, edge);
      while ('position' in seen && clock.now() < until && !signal.aborted && !stopping.aborted) {
        const expectation = waiter.expect(id);
        // It may have ended since it was looked at: what is stored is looked for at once.
        expectation.follow(seen.taskId);
        await expectation.end(Math.min(lookAgainMs, until - clock.now()), signal);
        seen = await see(id, tenant, edge);
      }
      return seen;
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
