/** The limit: the least that carries bytes across a stream and an answer back, with nothing promised. */
import { randomUUID } from 'node:crypto';
import { Redis } from 'ioredis';
import { growHeapFreely } from '../../../infra/process/heap.js';
import { callLoad } from './caller-load.js';
import { obey } from './messages.js';

const stream = 'bare:tasks';
const group = 'bare';
const channel = 'bare:replies';
const answer = JSON.stringify([{ label: '00000000', score: 1 }]);

// At its best, as ours.
growHeapFreely();
const [role, url = ''] = process.argv.slice(2);
if (role === 'caller') await startCaller();
else await startWorker();

async function startCaller(): Promise<void> {
  const client = new Redis(url, { enableAutoPipelining: true });
  const subscriber = new Redis(url);
  const waiting = new Map<string, () => void>();
  subscriber.on('message', (_channel, message: string) => {
    const replies: unknown = JSON.parse(message);
    if (!Array.isArray(replies)) return;
    for (const [id] of replies) {
      waiting.get(id)?.();
      waiting.delete(id);
    }
  });
  await subscriber.subscribe(channel);
  const task = async (image: Buffer) => {
    const id = randomUUID();
    const replied = new Promise<void>((resolve) => waiting.set(id, resolve));
    await client.xadd(stream, '*', 'id', id, 'image', image);
    await replied;
  };
  obey({
    load: (command) => callLoad(command, task),
    stop: async () => {
      await Promise.all([client.quit(), subscriber.quit()]);
    },
  });
}

async function startWorker(): Promise<void> {
  const client = new Redis(url);
  const blocking = new Redis(url);
  await client.xgroup('CREATE', stream, group, '0', 'MKSTREAM').catch(() => undefined);
  const stop = new AbortController();
  obey({
    stop: async () => {
      stop.abort();
      blocking.disconnect();
      await client.quit();
    },
  });
  while (!stop.signal.aborted) {
    const reply = await blocking
      .xreadgroupBuffer('GROUP', group, 'worker', 'COUNT', 64, 'BLOCK', 1000, 'STREAMS', stream, '>')
      .catch(() => null);
    const entries: [Buffer, Buffer[]][] = Array.isArray(reply) ? Object(reply)[0][1] : [];
    if (entries.length === 0) continue;
    const ids = entries.map(([id]) => id);
    await client
      .multi()
      .xack(stream, group, ...ids)
      .xdel(stream, ...ids)
      .exec();
    await client.publish(channel, JSON.stringify(entries.map(([, fields]) => [String(fields[1]), answer])));
  }
}
