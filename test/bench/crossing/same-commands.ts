/**
 * What our promises cost by themselves: the messages and scripts of the crossing, sent by a program that does nothing
 * else. No checks, deadlines, leases, waiters that look for what they missed, metrics, spans or log.
 */
import { setImmediate } from 'node:timers';
import { pino } from 'pino';
import { consumerGroup, partitionKeys, replyChannel } from '../../../contracts/keys.js';
import { encodeReplies, decodeReplies } from '../../../contracts/reply.js';
import { encodeResult } from '../../../contracts/result.js';
import { enqueue, type Enqueueing } from '../../../contracts/scripts/enqueue.js';
import { leave } from '../../../contracts/scripts/leave.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { newTaskId } from '../../../contracts/task.js';
import { growHeapFreely } from '../../../infra/process/heap.js';
import {
  connectBlocking,
  connectCommands,
  connectSubscriber,
  untilReady,
} from '../../../infra/process/redis-connection.js';
import { callLoad } from './caller-load.js';
import { obey } from './messages.js';

const [model, lane, edge] = ['same', 'normal', 'same'] as const;
const logger = pino({ level: 'warn' });
const keys = partitionKeys(model);
const limits = { maxTasks: 10_000, maxBytes: 1024 ** 3 };
const predictions = Buffer.from(JSON.stringify([{ label: '00000000', score: 1 }]));
const timing = { queueMs: 1, decodeMs: 1, batchWaitMs: 1, inferMs: 1, batchSize: 1 };
const result = encodeResult({ outcome: 'succeeded', version: '1', timing, predictions });

growHeapFreely();
const [role, url = ''] = process.argv.slice(2);
const client = defineScripts(connectCommands(url, { name: 'commands', logger }));
await untilReady(client, 10_000);
if (role === 'caller') await startCaller();
else await startWorker();

async function startCaller(): Promise<void> {
  const subscriber = connectSubscriber(url, { name: 'replies', logger, channels: [replyChannel(edge)] });
  await untilReady(subscriber, 10_000);
  const waiting = new Map<string, () => void>();
  subscriber.on('smessageBuffer', (_channel: Buffer, message: Buffer) => {
    for (const { id } of decodeReplies(message)) {
      waiting.get(id)?.();
      waiting.delete(id);
    }
  });
  let gathered: Enqueueing[] = [];
  const send = () => {
    void enqueue(client, { model, lane, edge, limits, tasksPerSecond: 0 }, gathered);
    gathered = [];
  };
  let made = 0;
  const task = async (image: Buffer) => {
    const id = newTaskId(model);
    const replied = new Promise<void>((resolve) => waiting.set(id, resolve));
    if (gathered.length === 0) setImmediate(send);
    const number = (made++).toString(16);
    const digests = { md5: number.padStart(32, '0'), sha256: number.padStart(64, '0') };
    const who = { scope: 'shared', tenant: 'anonymous', tier: 'free' } as const;
    const spec = { v: 1, model, version: '1', ...digests, params: {}, ...who, lane, bytes: image.length } as const;
    const traceparent = '00-00000000000000000000000000000001-0000000000000001-00';
    gathered.push({ id, spec, work: `shared:${model}:1::${digests.md5}`, image, timeLeftMs: 10_000, traceparent });
    await replied;
  };
  obey({ load: (command) => callLoad(command, task), stop: () => stop([client, subscriber]) });
}

async function startWorker(): Promise<void> {
  const stream = keys.tasks(lane);
  await client.xgroup('CREATE', stream, consumerGroup, '0', 'MKSTREAM').catch(() => undefined);
  const blocking = connectBlocking(url, { name: 'blocking', logger, longestBlockMs: 5_000 });
  await untilReady(blocking, 10_000);
  const stopping = new AbortController();
  obey({
    stop: () => {
      stopping.abort();
      return stop([client, blocking]);
    },
  });
  while (!stopping.signal.aborted) {
    const reply = await blocking
      .xreadgroup('GROUP', consumerGroup, 'worker', 'COUNT', 64, 'BLOCK', 1000, 'STREAMS', stream, '>')
      .catch(() => null);
    const entries: [string, string[]][] = Array.isArray(reply) ? Object(reply)[0][1] : [];
    if (entries.length === 0) continue;
    const tasks = entries.map(([entryId, [, text = '{}']]) => ({ entryId, taskId: String(JSON.parse(text).id) }));
    await client.mgetBuffer(tasks.map(({ taskId }) => keys.image(taskId)));
    const ends = tasks.map((task) => ({ ...task, reason: 'succeeded', result }) as const);
    await leave(client, { model, lane, keepResultMs: 60_000 }, ends);
    await client.spublish(replyChannel(edge), encodeReplies(tasks.map(({ taskId: id }) => ({ id, result }))));
  }
}

async function stop(connections: readonly { disconnect(): void }[]): Promise<void> {
  for (const one of connections) one.disconnect();
}
