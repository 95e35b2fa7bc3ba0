import { Redis } from 'ioredis';
import { ensureGroup, readNew } from '../../../backend/reader.js';
import { decodeEntry } from '../../../contracts/entry.js';
import { enqueue } from '../../../contracts/scripts/enqueue.js';
import { leave } from '../../../contracts/scripts/leave.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { enqueueRequest, resultBytes, toyKeys, toyStream, unlimited } from '../../tasks.js';
import { cpuMicrosOfRedis, dataBytesOf, untilNotRewriting } from './redis-account.js';

/** A stream in which tasks stand while others pass through: as many of the oldest leave as come anew. */
export interface Passage {
  /** Adds tasks that stay. @returns bytes of memory that each of them takes beyond its image */
  fill(count: number): Promise<number>;
  /** Enqueues, reads, fetches and ends so many. @returns CPU in µs per task */
  pass(count: number): Promise<{ redisMicros: number; callerMicros: number }>;
  close(): void;
}

export const imageBytes = 1000;
/** Tasks that travel together: an edge's turn of the event loop, a consumer's batch. */
const together = 8;
const fillTogether = 100;
const result = resultBytes();

/** @param tenants to whom the tasks belong, in turns */
export async function openPassage(url: string, tenants: number): Promise<Passage> {
  const [client, blocking] = [defineScripts(new Redis(url)), new Redis(url)];
  await ensureGroup(client, toyStream);
  let made = 0;
  const send = async (count: number) => {
    const requests = Array.from({ length: count }, () => {
      const image = Buffer.alloc(imageBytes);
      image.writeUInt32LE(made);
      return enqueueRequest({ image, tenant: `tenant-${String(made++ % tenants)}`, timeLeftMs: 3_600_000 });
    });
    const to = { model: 'toy', lane: 'normal', edge: 'bench', limits: unlimited, tasksPerSecond: 0 } as const;
    for (const { how } of await enqueue(client, to, requests)) if (how !== 'admitted') throw new Error(how);
  };
  const finish = async (count: number) => {
    const entries = await readNew(blocking, 'bench', [toyStream], count);
    const tasks = entries.map(({ entryId, fields }) => {
      const entry = decodeEntry(fields);
      if (!entry.ok) throw entry.failure;
      return { taskId: entry.value.taskId, entryId };
    });
    const images = await client.mgetBuffer(tasks.map(({ taskId }) => toyKeys.image(taskId)));
    if (images.length !== count || images.includes(null)) throw new Error('images are missing');
    // Kept for as long as it takes to read them: with all of the last minute the server would not stay as small as its backlog.
    const from = { model: 'toy', lane: 'normal', keepResultMs: 1000 } as const;
    const left = await leave(
      client,
      from,
      tasks.map((task) => ({ ...task, reason: 'succeeded', result })),
    );
    if (left.some(({ how }) => how !== 'left')) throw new Error('a task had left before');
  };
  return {
    fill: async (count) => {
      const before = await dataBytesOf(client);
      for (let sent = 0; sent < count; sent += fillTogether) await send(Math.min(fillTogether, count - sent));
      await untilNotRewriting(client);
      return ((await dataBytesOf(client)) - before) / count - imageBytes;
    },
    pass: async (count) => {
      await untilNotRewriting(client);
      const [redis, caller] = [await cpuMicrosOfRedis(client), process.cpuUsage()];
      for (let passed = 0; passed < count; passed += together) {
        await send(together);
        await finish(together);
      }
      const { user, system } = process.cpuUsage(caller);
      return { redisMicros: ((await cpuMicrosOfRedis(client)) - redis) / count, callerMicros: (user + system) / count };
    },
    close: () => {
      client.disconnect();
      blocking.disconnect();
    },
  };
}
