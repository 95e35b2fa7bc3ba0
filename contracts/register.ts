import * as z from 'zod';
import { registerIndexKey, registerKey } from './keys.js';
import { deviceKindSchema, modelNameSchema, modelVersionSchema } from './model.js';
import type { StreamClient } from './scripts/scripts.js';

/** What a consumer tells about itself; it counts as alive while it keeps telling. */
export const registrationSchema = z.strictObject({
  v: z.literal(1),
  consumer: z.string(),
  device: z.strictObject({ kind: deviceKindSchema, name: z.string() }),
  models: z.array(
    z.strictObject({
      model: modelNameSchema,
      version: modelVersionSchema,
      /** What it can do, not what it happens to do; 0 where that is not known yet. */
      tasksPerSecond: z.number().nonnegative(),
    }),
  ),
  /** Only one that is ready takes new tasks: paused for want of memory, sick since its batches fail. */
  state: z.enum(['ready', 'paused', 'sick', 'draining']),
  memory: z.strictObject({
    residentBytes: z.int(),
    /** What is watched so that nothing more is read than fits: the card's memory, or the process's own. */
    watched: z
      .strictObject({
        source: z.string(),
        state: z.enum(['unknown', 'open', 'paused', 'stuck']),
        usedBytes: z.number().optional(),
        limitBytes: z.number().optional(),
        /** Why it cannot be told. */
        reason: z.string().optional(),
      })
      .optional(),
  }),
  startedAt: z.number(),
  /** When the last read of the stream completed, milliseconds of Redis's clock. */
  lastReadAt: z.number(),
});
export type Registration = z.infer<typeof registrationSchema>;

/** Milliseconds a registration lives without a heartbeat, and how often the heart beats. */
export const registrationLifeMs = 6000;
export const heartbeatMs = 1000;

/** Tells that a consumer lives. `now` is in milliseconds of Redis's clock. */
export async function register(client: StreamClient, registration: Registration, now: number): Promise<void> {
  await Promise.all([
    client.set(registerKey(registration.consumer), JSON.stringify(registration), 'PX', registrationLifeMs),
    client.zadd(registerIndexKey, now, registration.consumer),
    client.zremrangebyscore(registerIndexKey, '-inf', String(now - 10 * registrationLifeMs)),
  ]);
}

/** Takes a consumer out of the register. */
export async function unregister(client: StreamClient, consumer: string): Promise<void> {
  await Promise.all([client.zrem(registerIndexKey, consumer), client.del(registerKey(consumer))]);
}

/** Every consumer that lives; a registration in an unknown form is passed over. */
export async function liveConsumers(client: StreamClient): Promise<readonly Registration[]> {
  const names = await client.zrange(registerIndexKey, '0', '-1');
  const texts = await Promise.all(names.map((name) => client.get(registerKey(name))));
  return texts.flatMap((text) => readRegistration(text) ?? []);
}

function readRegistration(text: string | null): Registration | undefined {
  if (text === null) return undefined;
  try {
    return registrationSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
