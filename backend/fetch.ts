import { Buffer } from 'node:buffer';
import type { Redis } from 'ioredis';
import { decodeSpec, type Decoded } from '../contracts/entry.js';
import { Failure } from '../contracts/failure.js';
import { partitionKeys } from '../contracts/keys.js';
import { parseTaskId, type TaskSpec } from '../contracts/task.js';
import type { Delivery } from './delivery.js';

/** What a task's hash holds, as its consumer needs it. */
export interface TaskBody {
  readonly spec: TaskSpec;
  readonly image: Buffer;
  /** Milliseconds of Redis's clock. */
  readonly deadline: number;
}

/**
 * Fetches the bodies of deliveries in one round trip.
 * @returns per delivery, in order: its body, a failure for one that cannot be read, or undefined where the task has left
 * @throws where Redis does not answer
 */
export async function fetchBodies(
  client: Redis,
  deliveries: readonly Delivery[],
): Promise<readonly (Decoded<TaskBody> | undefined)[]> {
  const pipeline = client.pipeline();
  for (const { taskId } of deliveries) pipeline.hmgetBuffer(taskKey(taskId), 'spec', 'deadline', 'image');
  const replies = await pipeline.exec();
  return deliveries.map((_, i) => {
    const [error, fields] = replies?.[i] ?? [new Error('no reply')];
    if (error) throw error;
    return readBody(Array.isArray(fields) ? fields : []);
  });
}

function taskKey(taskId: string): string {
  const parts = parseTaskId(taskId);
  if (!parts) throw new Failure('task_unreadable', 'not a task id');
  return partitionKeys(parts.model, parts.partition).task(taskId);
}

function readBody([spec, deadline, image]: readonly unknown[]): Decoded<TaskBody> | undefined {
  if (!Buffer.isBuffer(spec) && !Buffer.isBuffer(image)) return undefined;
  if (!Buffer.isBuffer(spec)) return missing('spec');
  if (!Buffer.isBuffer(deadline)) return missing('deadline');
  if (!Buffer.isBuffer(image)) return missing('image');
  const decoded = decodeSpec(spec.toString());
  if (!decoded.ok) return decoded;
  return { ok: true, value: { spec: decoded.value, image, deadline: Number(deadline.toString()) } };
}

function missing(field: string): Decoded<TaskBody> {
  return { ok: false, failure: new Failure('task_unreadable', `the task's hash has no field "${field}"`) };
}
