import type { Redis } from 'ioredis';
import { consumerGroup, partitionKeys } from '../../contracts/keys.js';
import { keysLeft } from '../redis.js';
import { until } from '../integration/system.js';
import { times } from './times.js';

/** What a model's work has left in the stream role once nothing is under way. */
export interface Leftovers {
  /** What should not be there, in words. */
  readonly found: readonly string[];
  /** Dead letters, each with all its fields. */
  readonly deadLetters: readonly string[];
}

/** Waits until everything has left, within a bound, and says what has not. */
export async function leftoversOf(stream: Redis, model: string): Promise<Leftovers> {
  let last: Leftovers = { found: ['not looked at'], deadLetters: [] };
  const look = async () => (last = await lookOnce(stream, model));
  await until(look, ({ found }) => found.length === 0, times.limits.quietMs).catch(() => undefined);
  return last;
}

/**
 * Results, submissions and Idempotency-Keys stay for a while, and a dead letter's image with it; all else of a task is
 * gone when it has left.
 */
async function lookOnce(stream: Redis, model: string): Promise<Leftovers> {
  const keys = partitionKeys(model);
  const tasks = keys.tasks('normal');
  const base = tasks.slice(0, -'tasks:normal'.length);
  const dead = await stream.xrange(`${base}dead`, '-', '+');
  const deadImages = dead.map(([, fields]) => keys.image(fields[fields.indexOf('task') + 1] ?? ''));
  const entries = await stream.xlen(tasks);
  const [pending] = await stream.xpending(tasks, consumerGroup);
  const known = new Set([tasks, `${base}dead`, ...deadImages]);
  const isKept = (key: string) =>
    ['result:', 'submission:', 'idempotency:'].some((kind) => key.startsWith(base + kind));
  const own = (await keysLeft(stream)).filter((key) => key.startsWith(base) && !known.has(key));
  const lasting = await Promise.all(own.map(async (key) => !isKept(key) || (await stream.ttl(key)) === -1));
  const others = own.filter((_, i) => lasting[i]);
  return {
    found: [
      ...(entries > 0 ? [`${String(entries)} entries in the stream`] : []),
      ...(Number(pending) > 0 ? [`${String(pending)} entries pending`] : []),
      ...others,
    ],
    deadLetters: dead.map(([id, fields]) => `${id} ${fields.join(' ')}`),
  };
}
