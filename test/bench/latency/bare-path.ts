/**
 * The least that takes a photo over HTTP, a stream and back: an edge that reads, hashes, asks a cache, and adds the photo
 * to a stream; a worker that decodes, infers with the backend's own model, and publishes. Nothing is promised, checked,
 * traced or logged. Arguments: role, Redis of the stream, Redis of the cache, settings of the model (JSON).
 */
import { createHash, randomUUID } from 'node:crypto';
import { createServer, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import { Redis } from 'ioredis';
import * as z from 'zod';
import { parseParams } from '../../../contracts/params.js';
import { findModels, loadModel } from '../../../backend/model/load.js';
import { openDevice } from '../../../backend/model/session.js';
import { growHeapFreely } from '../../../infra/process/heap.js';
import { listen } from '../../../infra/process/listen.js';

/** Which model the worker runs, and on how many threads. */
const settingsSchema = z.strictObject({ modelDir: z.string(), model: z.string(), threads: z.int().min(1) });

const [stream, group, replies] = ['bare:tasks', 'bare', 'bare:replies'];
const [role, streamUrl = '', cacheUrl = '', settings = '{}'] = process.argv.slice(2);
const [client, listening, cache] = [new Redis(streamUrl), new Redis(streamUrl), new Redis(cacheUrl)];
growHeapFreely();
process.on('SIGTERM', () => process.kill(process.pid, 'SIGKILL'));
if (role === 'edge') await startEdge();
else await startWorker();

async function startEdge(): Promise<void> {
  const waiting = new Map<string, (answer: string) => void>();
  listening.on('message', (_channel, message: string) => {
    const id = message.slice(0, message.indexOf(' '));
    waiting.get(id)?.(message.slice(id.length + 1));
    waiting.delete(id);
  });
  await listening.subscribe(replies);
  const answer = async (photo: Buffer): Promise<string> => {
    const md5 = createHash('md5').update(photo).digest('hex');
    createHash('sha256').update(photo).digest('hex');
    const known = await cache.get(md5);
    if (known !== null) return known;
    const id = randomUUID();
    const replied = new Promise<string>((resolve) => waiting.set(id, resolve));
    await client.xadd(stream, '*', 'id', id, 'md5', md5, 'image', photo);
    return replied;
  };
  const server = createServer((request, response) => {
    buffer(request)
      .then(answer)
      .then(
        (text) => send(response, 200, text),
        (error: unknown) => send(response, 500, String(error)),
      );
  });
  console.log(JSON.stringify({ msg: 'listening', url: await listen(server, '127.0.0.1', 0, 'bare path') }));
}

function send(response: ServerResponse, status: number, text: string): void {
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  response.writeHead(status, headers).end(text);
}

async function startWorker(): Promise<void> {
  const { modelDir, model: name, threads } = settingsSchema.parse(JSON.parse(settings));
  const version = (await findModels(modelDir, [name]))[0]?.version ?? '';
  const model = await loadModel(openDevice({ kind: 'cpu', index: 0, threads }), modelDir, name, version);
  await model.warmUp();
  const params = parseParams(model.manifest, {});
  await client.xgroup('CREATE', stream, group, '0', 'MKSTREAM').catch(() => undefined);
  console.log(JSON.stringify({ ready: true }));
  for (;;) {
    const reply = await listening.xreadgroupBuffer('GROUP', group, 'w', 'COUNT', 1, 'BLOCK', 0, 'STREAMS', stream, '>');
    const [entryId, [, id, , md5, , photo]]: [Buffer, Buffer[]] = Object(reply)[0][1][0];
    if (!photo) throw new Error('an entry without an image');
    const image = await model.decode(photo);
    const [output] = await model.infer([image]);
    const text = output ? JSON.stringify(model.predict(output, image, params)) : '[]';
    client.xack(stream, group, entryId).catch(endWith);
    client.xdel(stream, String(entryId)).catch(endWith);
    cache.set(String(md5), text, 'EX', 3600).catch(endWith);
    await client.publish(replies, `${String(id)} ${text}`);
  }
}

function endWith(error: unknown): void {
  console.error(error);
  process.exit(1);
}
