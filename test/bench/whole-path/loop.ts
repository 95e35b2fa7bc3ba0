import { batchLimitFor } from '../../../contracts/model.js';
import { parseParams } from '../../../contracts/params.js';
import type { DecodedImage, Model } from '../../../backend/model/model.js';
import { quantile } from '../statistics.js';
import { prepareAhead } from './prepare-ahead.js';
import type { LoopOrder, LoopReport } from './loop-orders.js';

/** What the loop works with: one model, once per session, and encoded photos that take turns. */
export interface Loop {
  readonly model: Model;
  /** The same model in every session, the first one included. */
  readonly sessions: readonly Model[];
  readonly photos: readonly Uint8Array[];
}

type Done = Omit<LoopReport, 'images' | 'seconds'>;

/** Does what it is told and says how long that took. */
export async function follow(loop: Loop, { what, images }: LoopOrder): Promise<LoopReport> {
  const work = { whole, decode, infer, 'one-by-one': oneByOne }[what];
  const startedAt = performance.now();
  const done = await work(loop, images);
  return { images, seconds: (performance.now() - startedAt) / 1000, ...done };
}

/** Decodes two batches per session ahead, as the backend does; a free session takes what is ready, up to the limit. */
async function whole(loop: Loop, count: number): Promise<Done> {
  const limit = limitOf(loop);
  const decoded = prepareAhead((i) => decodePhoto(loop, i), { count, ahead: 2 * limit * loop.sessions.length });
  let [batches, deviceMs] = [0, 0];
  const runAll = async (session: Model) => {
    for (let batch = await decoded.take(limit); batch.length > 0; batch = await decoded.take(limit)) {
      const startedAt = performance.now();
      const raw = await session.infer(batch);
      deviceMs += performance.now() - startedAt;
      batches++;
      predictAll(session, raw, batch);
    }
  };
  await Promise.all(loop.sessions.map(runAll));
  return { batches, deviceSeconds: deviceMs / 1000 / loop.sessions.length };
}

async function decode(loop: Loop, count: number): Promise<Done> {
  const decoded = prepareAhead((i) => decodePhoto(loop, i), { count, ahead: 2 * limitOf(loop) });
  while ((await decoded.take(count)).length > 0);
  return {};
}

/** Full batches of photos that were decoded before. */
async function infer(loop: Loop, count: number): Promise<Done> {
  const limit = limitOf(loop);
  const batch = await Promise.all(Array.from({ length: limit }, (_, i) => decodePhoto(loop, i)));
  let left = Math.ceil(count / limit);
  const runAll = async (session: Model) => {
    while (left-- > 0) await session.infer(batch);
  };
  await Promise.all(loop.sessions.map(runAll));
  return {};
}

async function oneByOne(loop: Loop, count: number): Promise<Done> {
  const latencies: number[] = [];
  for (let i = 0; i < count; i++) {
    const startedAt = performance.now();
    const image = await decodePhoto(loop, i);
    predictAll(loop.model, await loop.model.infer([image]), [image]);
    latencies.push(performance.now() - startedAt);
  }
  latencies.sort((a, b) => a - b);
  return { p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
}

const limitOf = ({ model }: Loop) => batchLimitFor(model.manifest, model.device).max;

function decodePhoto({ model, photos }: Loop, index: number): Promise<DecodedImage> {
  const photo = photos[index % photos.length];
  if (!photo) throw new Error('there are no photos');
  return model.decode(photo);
}

/** The answers are made as they would be sent, and thrown away. */
function predictAll(model: Model, raw: Awaited<ReturnType<Model['infer']>>, images: readonly DecodedImage[]): void {
  const params = parseParams(model.manifest, {});
  images.forEach((image, i) => {
    const output = raw[i];
    if (output) JSON.stringify(model.predict(output, image, params));
  });
}
