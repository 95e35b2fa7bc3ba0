/**
 * The limit: one process that decodes and infers in a loop, with the backend's own decoding and session, and nothing
 * else. HTTP only tells it when to begin (GET /?what=…&images=…), and is answered when it is done.
 */
import { readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { findModels, loadModel } from '../../../backend/model/load.js';
import { openDevice } from '../../../backend/model/session.js';
import { growHeapFreely } from '../../../infra/process/heap.js';
import { listen } from '../../../infra/process/listen.js';
import { follow, type Loop } from './loop.js';
import { loopOrderSchema, loopSettingsSchema } from './loop-orders.js';

growHeapFreely();
const settings = loopSettingsSchema.parse(JSON.parse(process.argv[2] ?? '{}'));
const loop = await openLoop().catch((error: unknown) => {
  // The last line of the output is what whoever started this process hears.
  console.log((error instanceof Error ? error.message : String(error)).trim().replaceAll('\n', ' '));
  process.exit(1);
});
const server = createServer((request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://loop');
  const send = (status: number, answer: unknown) => response.writeHead(status).end(JSON.stringify(answer));
  Promise.resolve()
    .then(() => follow(loop, loopOrderSchema.parse(Object.fromEntries(searchParams))))
    .then(
      (report) => send(200, report),
      (error: unknown) => send(500, { error: String(error) }),
    );
});
// An order takes as long as it takes.
server.requestTimeout = 0;
console.log(JSON.stringify({ msg: 'listening', url: await listen(server, '127.0.0.1', 0, 'bare loop') }));
// As in the backend, a run in flight would turn an ordinary exit into an abort.
process.on('SIGTERM', () => process.kill(process.pid, 'SIGKILL'));

async function openLoop(): Promise<Loop> {
  const { modelDir, model: name, device: kind, deviceIndex: index, threads } = settings;
  const version = (await findModels(modelDir, [name]))[0]?.version ?? '';
  const sessions = await Promise.all(
    Array.from({ length: settings.sessions }, () =>
      loadModel(openDevice({ kind, index, threads }), modelDir, name, version),
    ),
  );
  for (const session of sessions) await session.warmUp();
  const [model] = sessions;
  if (!model) throw new Error('a loop needs a session');
  return { model, sessions, photos: await Promise.all(settings.files.map((file) => readFile(file))) };
}
