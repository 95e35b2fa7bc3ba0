import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { after, before, test } from 'node:test';
import * as tf from '@tensorflow/tfjs-core';
import sharp from 'sharp';
import { loadModel } from '../../../backend/model/load.js';
import type { DecodedImage, Model } from '../../../backend/model/model.js';
import { openDevice, type Device } from '../../../backend/model/session.js';
import { photos } from '../../photos.js';
import { preparedModels } from '../../prepared-models.js';
import { cocoReference, nsfwReference, startTfjs } from './tfjs-reference.js';

let device: Device;
let nsfw: Model;
let coco: Model;
let forNsfw: Awaited<ReturnType<typeof nsfwReference>>;
let forCoco: Awaited<ReturnType<typeof cocoReference>>;
const images: Buffer[] = [];

before(async () => {
  await startTfjs('wasm');
  forNsfw = await nsfwReference();
  forCoco = await cocoReference();
  const modelDir = await preparedModels();
  device = openDevice({ kind: 'cpu', threads: 2 });
  nsfw = await loadModel(device, modelDir, 'nsfw', '1');
  coco = await loadModel(device, modelDir, 'coco', '1');
  for (const photo of photos) images.push(await readFile(photo));
});

after(() => device.close());

test('the converted moderation model gives the probabilities of the TFJS runtime', async (t) => {
  const distances: number[] = [];
  for (const image of await decodeAll(nsfw)) {
    const [raw] = await nsfw.infer([image]);
    distances.push(distance(raw?.['probabilities'], forNsfw(image.pixels)));
  }
  t.diagnostic(
    `probabilities differ by at most ${Math.max(...distances).toExponential(1)} over ${String(distances.length)} photos`,
  );
  assert.ok(Math.max(...distances) <= 1e-3);
});

test('the converted detector gives the scores and boxes of the TFJS runtime', async (t) => {
  const scores: number[] = [];
  const boxes: number[] = [];
  for (const image of await decodeAll(coco)) {
    const [raw] = await coco.infer([image]);
    const expected = forCoco(image.pixels);
    scores.push(distance(raw?.['scores'], expected.scores));
    boxes.push(distance(raw?.['boxes'], expected.boxes));
  }
  t.diagnostic(
    `scores differ by at most ${Math.max(...scores).toExponential(1)}, boxes by ${Math.max(...boxes).toExponential(1)} px`,
  );
  assert.ok(Math.max(...scores) <= 1e-3);
  assert.ok(Math.max(...boxes) <= 1);
});

test('a batch answers what its images answer alone', async () => {
  for (const model of [nsfw, coco]) {
    const batch = (await decodeAll(model)).slice(0, 8);
    const together = await model.infer(batch);
    for (const [index, image] of batch.entries()) {
      const [alone] = await model.infer([image]);
      for (const { name } of model.manifest.outputs) {
        const tolerance = name === 'boxes' ? 1e-5 * model.manifest.input.width : 1e-5;
        assert.ok(
          distance(together[index]?.[name], alone?.[name] ?? new Float32Array()) <= tolerance,
          `${model.manifest.name} ${name}`,
        );
      }
    }
  }
});

test('the whole path stays near the preprocessing of the package', async (t) => {
  const nsfwDistances: number[] = [];
  const cocoDistances: number[] = [];
  for (const image of images) {
    const ours = await nsfw.infer([await nsfw.decode(image)]);
    nsfwDistances.push(distance(ours[0]?.['probabilities'], forNsfw(await packagePixels(image, 224, true))));
    const detector = await coco.infer([await coco.decode(image)]);
    cocoDistances.push(distance(detector[0]?.['scores'], forCoco(await packagePixels(image, 416, false)).scores));
  }
  report(t, `nsfw (${nsfw.manifest.input.kernel})`, nsfwDistances);
  report(t, `coco (${coco.manifest.input.kernel})`, cocoDistances);
  assert.ok(mean(nsfwDistances) <= 0.1, 'probabilities moved by the resize');
  assert.ok(mean(cocoDistances) <= 0.2, 'scores moved by the resize');
});

function decodeAll(model: Model): Promise<DecodedImage[]> {
  return Promise.all(images.map((image) => model.decode(image)));
}

/** The packages resize at full resolution with TFJS's bilinear sampling, which does not smooth beforehand. */
async function packagePixels(image: Buffer, size: number, alignCorners: boolean): Promise<Float32Array> {
  const { data, info } = await sharp(image).toColourspace('srgb').raw().toBuffer({ resolveWithObject: true });
  return tf.tidy(() => {
    const whole = tf.tensor3d(new Float32Array(data), [info.height, info.width, 3]);
    return new Float32Array(tf.image.resizeBilinear(whole, [size, size], alignCorners).dataSync());
  });
}

function distance(values: Float32Array | undefined, expected: Float32Array): number {
  assert.equal(values?.length, expected.length);
  return expected.reduce((most, value, index) => Math.max(most, Math.abs(value - (values[index] ?? Infinity))), 0);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

function report(t: { diagnostic(message: string): void }, what: string, distances: readonly number[]): void {
  t.diagnostic(
    `${what}: largest difference per photo, mean ${mean(distances).toFixed(3)}, worst ${Math.max(...distances).toFixed(3)}`,
  );
}
