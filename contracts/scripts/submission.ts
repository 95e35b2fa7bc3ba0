import { Buffer } from 'node:buffer';
import { consumerGroup, partitionKeys } from '../keys.js';
import { taskKindSchema, type TaskKind } from '../model.js';
import { decodeResult, type Result } from '../result.js';
import { parseTaskId, type Lane } from '../task.js';
import { isList, type StreamClient } from './scripts.js';

/** A request that was accepted, and whose caller comes back for the result. Its id has the form of a task's. */
export interface Submission {
  readonly id: string;
  readonly tenant: string;
  /** The task that will answer it: its own, or the one that it joined. */
  readonly taskId: string;
  /** Of the model, which may be gone when the caller comes back. */
  readonly kind: TaskKind;
  /** Milliseconds of Redis's clock. */
  readonly deadline: number;
  /** Milliseconds that the result is kept for it. */
  readonly keepMs: number;
  /** Digest of the Idempotency-Key that stands for it. */
  readonly keyDigest?: string | undefined;
}

/** Records a submission; see submit.lua. @throws where Redis refuses; doing it again is safe */
export async function submit(client: StreamClient, submission: Submission): Promise<void> {
  const { id, tenant, taskId, kind, deadline, keepMs, keyDigest } = submission;
  const keys = keysOf(id);
  const keyList = [keys.submission(id), keys.task(taskId), keys.result(taskId), keys.load];
  if (keyDigest !== undefined) keyList.push(keys.idempotency(tenant, keyDigest));
  await client.sampanSubmit(keyList.length, ...keyList, tenant, taskId, deadline, keepMs, kind);
}

/** What has become of a submission. Times are milliseconds of Redis's clock. */
export type Seen = { readonly tenant: string } & (
  | {
      readonly state: 'waiting' | 'pending';
      readonly deadline: number;
      /** 1 for the task that is next. */
      readonly position: number;
      readonly taskId: string;
    }
  | { readonly state: 'finished'; readonly result: Result; readonly taskId: string; readonly kind: TaskKind }
  | { readonly state: 'cancelled' | 'expired' | 'lost' }
);

/**
 * Looks after a submission; see look.lua.
 * @param edge is told when its task ends; '' tells nobody
 * @returns undefined where there is none
 */
export async function look(
  client: StreamClient,
  { id, lane }: { readonly id: string; readonly lane: Lane },
  edge: string,
): Promise<Seen | undefined> {
  const keys = keysOf(id);
  const reply = await client.sampanLookBuffer(
    ...[keys.submission(id), keys.load, keys.tasks(lane), id, consumerGroup, edge],
  );
  if (reply === null) return undefined;
  if (!isList(reply)) throw unknownForm('look');
  const text = (i: number) => {
    const part = reply[i];
    return Buffer.isBuffer(part) ? part.toString() : '';
  };
  const [state, tenant] = [text(0), text(1)];
  switch (state) {
    case 'waiting':
    case 'pending':
      return { state, tenant, deadline: Number(text(2)), position: Number(text(3)), taskId: text(4) };
    case 'finished': {
      const [, , result] = reply;
      if (!Buffer.isBuffer(result)) throw unknownForm('look');
      return { state, tenant, result: decodeResult(result), taskId: text(3), kind: taskKindSchema.parse(text(4)) };
    }
    case 'cancelled':
    case 'expired':
    case 'lost':
      return { state, tenant };
    default:
      throw unknownForm('look');
  }
}

/** What became of a cancellation; of one that was marked, its task is to leave. */
export type Withdrawn =
  { readonly how: 'none' | 'before' | 'ended' } | { readonly how: 'cancelled'; readonly taskId: string };

/** Marks a tenant's submission as cancelled; see withdraw.lua. */
export async function withdraw(client: StreamClient, id: string, tenant: string): Promise<Withdrawn> {
  const [how, taskId] = String(await client.sampanWithdraw(keysOf(id).submission(id), id, tenant)).split(' ');
  if (how === 'cancelled' && taskId !== undefined) return { how, taskId };
  if (how === 'none' || how === 'before' || how === 'ended') return { how };
  throw unknownForm('withdraw');
}

/** Milliseconds for which a key is taken before its submission is recorded: longer than that can take. */
const claimMs = 60_000;

/**
 * Takes an Idempotency-Key for a submission, for a minute or until it is recorded, unless it was taken before.
 * @param asked names what is asked for, so that another request by the same key can be told
 * @returns the id that the key stands for, and what was asked then
 */
export async function claimKey(
  client: StreamClient,
  claim: { readonly id: string; readonly tenant: string; readonly digest: string },
  asked: string,
): Promise<{ readonly id: string; readonly asked: string }> {
  const { id, tenant, digest } = claim;
  const key = keysOf(id).idempotency(tenant, digest);
  const before = await client.set(key, `${id} ${asked}`, 'PX', claimMs, 'NX', 'GET');
  if (before === null) return { id, asked };
  const [takenBy = '', askedThen = ''] = before.split(' ');
  return { id: takenBy, asked: askedThen };
}

function keysOf(id: string) {
  const parts = parseTaskId(id);
  if (!parts) throw new Error(`"${id}" is no id of a task`);
  return partitionKeys(parts.model, parts.partition);
}

function unknownForm(script: string): Error {
  return new Error(`the script ${script} answered in a form that is not known`);
}
