import { Buffer } from 'node:buffer';
import type { Redis } from 'ioredis';
import { partitionKeys } from '../contracts/keys.js';
import type { Delivery } from './delivery.js';

/**
 * Fetches the images of one model's deliveries in one command.
 * @returns per delivery, in order: the encoded bytes, or undefined where the task has left
 * @throws where Redis does not answer
 */
export async function fetchImages(
  client: Redis,
  model: string,
  deliveries: readonly Delivery[],
): Promise<readonly (Buffer | undefined)[]> {
  const keys = partitionKeys(model);
  const images: readonly unknown[] = await client.mgetBuffer(deliveries.map(({ taskId }) => keys.image(taskId)));
  return deliveries.map((_, i) => {
    const image = images[i];
    return Buffer.isBuffer(image) ? image : undefined;
  });
}

/** A task's deadline as it is now, in milliseconds of Redis's clock; undefined where the task has left. */
export async function fetchDeadline(client: Redis, model: string, taskId: string): Promise<number | undefined> {
  const deadline = await client.hget(partitionKeys(model).task(taskId), 'deadline');
  return deadline === null ? undefined : Number(deadline);
}
