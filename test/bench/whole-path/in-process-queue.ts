/**
 * The rival: what articles about serving models with Node.js build. One Hono process; requests go into an array; a batch
 * closes at 16 or after 20 ms, is decoded with sharp and run by a session of this same thread; answers are JSON.
 */
import { join } from 'node:path';
import { serve } from '@hono/node-server';
import { Hono } from 'hono';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import sharp from 'sharp';
import { modelManifestSchema } from '../../../contracts/model.js';
import { readFile } from 'node:fs/promises';
import { queueSettingsSchema } from './queue-settings.js';
import { createWindowQueue } from './window-queue.js';

const settings = queueSettingsSchema.parse(JSON.parse(process.argv[2] ?? '{}'));
const folder = join(settings.modelDir, settings.model, settings.version);
const { input, labels } = modelManifestSchema.parse(JSON.parse(await readFile(join(folder, 'manifest.json'), 'utf8')));
const session = await InferenceSession.create(join(folder, 'model.onnx'), {
  executionProviders: ['cpu'],
  // Left out, the runtime takes all cores.
  ...(settings.threads === undefined ? {} : { intraOpNumThreads: settings.threads }),
  ...(settings.spinning ? {} : { extra: { session: { intra_op: { allow_spinning: '0' } } } }),
});
const imageBytes = input.width * input.height * 3;
await infer([new Uint8Array(imageBytes)]);

const { mostHeld, atOnce } = settings;
const queue = createWindowQueue(
  { size: 16, windowMs: 20, atOnce, ...(mostHeld === undefined ? {} : { mostHeld }) },
  async (photos: readonly ArrayBuffer[]) => infer(await Promise.all(photos.map(decode))),
);
const app = new Hono();
app.post('/predict', async (c) => {
  const answer = queue.add(await c.req.arrayBuffer());
  return answer ? c.json({ predictions: await answer }) : c.json({ error: 'busy' }, 503);
});
const server = serve({ fetch: app.fetch, hostname: '127.0.0.1', port: 0 }, ({ port }) =>
  console.log(JSON.stringify({ msg: 'listening', url: `http://127.0.0.1:${String(port)}` })),
);
process.on('SIGTERM', () => {
  server.close();
  process.kill(process.pid, 'SIGKILL');
});

/** The pixels that the model was measured with, without the checks that a service would want. */
function decode(photo: ArrayBuffer): Promise<Uint8Array> {
  const { width, height, fit, kernel } = input;
  return sharp(photo).resize({ width, height, fit, kernel }).removeAlpha().raw().toBuffer();
}

type Prediction = { readonly label: string; readonly score: number };

async function infer(images: readonly Uint8Array[]): Promise<readonly (readonly Prediction[])[]> {
  const batch = new Uint8Array(images.length * imageBytes);
  images.forEach((pixels, i) => batch.set(pixels, i * imageBytes));
  const tensor = new Tensor('uint8', batch, [images.length, input.height, input.width, 3]);
  const outputs = await session.run({ [input.name]: tensor });
  const scores = outputs[session.outputNames[0] ?? '']?.data;
  if (!(scores instanceof Float32Array)) throw new Error('the model has no output of float32');
  return images.map((_, i) =>
    labels
      .map((label, j) => ({ label, score: scores[i * labels.length + j] ?? 0 }))
      .sort((one, other) => other.score - one.score),
  );
}
