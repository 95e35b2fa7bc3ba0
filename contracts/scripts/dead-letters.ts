import type { Buffer } from 'node:buffer';
import * as z from 'zod';
import { decodeDeadLetter, type DeadLetter } from '../dead-letter.js';
import { encodeEntry, shortSha256 } from '../entry.js';
import { partitionKeys } from '../keys.js';
import { canonicalParams } from '../params.js';
import { newTaskId, workKey, type TaskSpec } from '../task.js';
import type { StreamClient } from './scripts.js';

/** A dead letter where it lies. */
export interface FiledLetter {
  /** Its entry in the stream of dead letters; with the model it names the letter. */
  readonly id: string;
  readonly letter: DeadLetter;
}

/** All dead letters of a model, the oldest first; those in a form that is not known are passed over. */
export async function listDeadLetters(client: StreamClient, model: string): Promise<readonly FiledLetter[]> {
  return readLetters(client, model, '-', '+');
}

/** One dead letter; undefined where there is none of that id. */
export async function findDeadLetter(
  client: StreamClient,
  model: string,
  id: string,
): Promise<FiledLetter | undefined> {
  if (!/^\d{1,20}-\d{1,20}$/.test(id)) return undefined;
  const [found] = await readLetters(client, model, id, id);
  return found;
}

async function readLetters(client: StreamClient, model: string, from: string, to: string): Promise<FiledLetter[]> {
  const entries = await client.xrange(partitionKeys(model).dead, from, to);
  return entries.flatMap(([id, fields]) => {
    const letter = decodeDeadLetter(fields);
    return letter ? [{ id, letter }] : [];
  });
}

/** The image that is kept with a letter; null where it is kept no longer. */
export async function readDeadImage(client: StreamClient, { taskId, spec }: DeadLetter): Promise<Buffer | null> {
  return client.getBuffer(partitionKeys(spec.model).image(taskId));
}

export type Replayed = { readonly how: 'replayed'; readonly taskId: string } | { readonly how: 'none' | 'image' };

/**
 * Makes a task anew of a dead letter; see replay.lua. Its trace is that of the task that died.
 * @param version of the model that is to run it
 */
export async function replayDeadLetter(
  client: StreamClient,
  { id, letter }: FiledLetter,
  { version, timeLeftMs }: { readonly version: string; readonly timeLeftMs: number },
): Promise<Replayed> {
  const spec: TaskSpec = { ...letter.spec, version };
  const taskId = newTaskId(spec.model);
  const keys = partitionKeys(spec.model);
  const entry = encodeEntry({ taskId, spec, timeLeftMs, traceparent: letter.traceparent });
  const how = await client.sampanReplay(
    ...[keys.dead, keys.image(letter.taskId), keys.task(taskId), keys.image(taskId)],
    ...[keys.tasks(spec.lane), keys.work, keys.load],
    ...[id, taskId, timeLeftMs, shortSha256(spec.sha256), workKey(spec, canonicalParams(spec.params))],
    ...[spec.tenant, spec.bytes, entry],
  );
  const known = z.enum(['replayed', 'none', 'image']).parse(how);
  return known === 'replayed' ? { how: known, taskId } : { how: known };
}

/** Removes a dead letter and its image; answers whether it was there. See drop.lua. */
export async function dropDeadLetter(client: StreamClient, { id, letter }: FiledLetter): Promise<boolean> {
  const keys = partitionKeys(letter.spec.model);
  return (await client.sampanDrop(keys.dead, keys.image(letter.taskId), id)) === 1;
}
