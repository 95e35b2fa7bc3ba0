import assert from 'node:assert/strict';
import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, afterEach, before, beforeEach, describe, test } from 'node:test';
import { findModels, loadModel } from '../../../backend/model/load.js';
import { openDevice, type Device } from '../../../backend/model/session.js';
import { modelManifestSchema, type ModelManifest } from '../../../contracts/model.js';
import { parseParams } from '../../../contracts/params.js';
import { detectPredictionsSchema } from '../../../contracts/prediction.js';
import { photos } from '../../photos.js';
import { preparedModels } from '../../prepared-models.js';

let device: Device;
let prepared: string;
let modelDir: string;

before(async () => {
  prepared = await preparedModels();
  device = openDevice({ kind: 'cpu', threads: 1 });
});

after(() => device.close());

beforeEach(async () => {
  modelDir = await mkdtemp(join(tmpdir(), 'models-'));
  await cp(join(prepared, 'nsfw'), join(modelDir, 'nsfw'), { recursive: true });
});

afterEach(() => rm(modelDir, { recursive: true }));

async function change(edit: (manifest: ModelManifest) => object): Promise<void> {
  const path = join(modelDir, 'nsfw/1/manifest.json');
  const manifest = modelManifestSchema.parse(JSON.parse(await readFile(path, 'utf8')));
  await writeFile(path, JSON.stringify({ ...manifest, ...edit(manifest) }));
}

const refused = (reason: RegExp): Promise<void> => assert.rejects(loadModel(device, modelDir, 'nsfw', '1'), reason);

describe('a model is refused, and the message says what is wrong', () => {
  test('when the graph is not the one that the manifest was written for', async () => {
    await change(() => ({ sha256: 'a'.repeat(64) }));
    await refused(/model\.onnx has the SHA-256 [0-9a-f]{64}, its manifest says a{64}/);
  });

  test('when the graph wants another size', async () => {
    await change(({ input }) => ({ input: { ...input, width: 192 } }));
    await refused(/input image uint8 \[any,224,192,3\] in the manifest, image uint8 \[any,224,224,3\] in the graph/);
  });

  test('when the input has another name', async () => {
    await change(({ input }) => ({ input: { ...input, name: 'pixels' } }));
    await refused(/input pixels .* in the manifest, image .* in the graph/);
  });

  test('when an output has another shape', async () => {
    await change(({ labels }) => ({ labels: labels.slice(1), outputs: [{ name: 'probabilities', shape: [4] }] }));
    await refused(
      /output probabilities float32 \[any,4\] in the manifest, probabilities float32 \[any,5\] in the graph/,
    );
  });

  test('when there are more labels than scores', async () => {
    await change(({ labels }) => ({ labels: [...labels, 'Other'] }));
    await refused(/classify needs one output of shape \[6\]/);
  });

  test('when the manifest misses something', async () => {
    await change(() => ({ licence: undefined }));
    await refused(/manifest\.json is not a manifest[\s\S]*licence/);
  });

  test('when the manifest has something unknown', async () => {
    await change(() => ({ threshold: 0.5 }));
    await refused(/manifest\.json is not a manifest[\s\S]*threshold/);
  });

  test('when the manifest is about another model', async () => {
    await change(() => ({ version: '2' }));
    await refused(/is about nsfw 2, its folder about nsfw 1/);
  });

  test('when the manifest is no JSON', async () => {
    await writeFile(join(modelDir, 'nsfw/1/manifest.json'), '{');
    await refused(/manifest\.json is not JSON/);
  });
});

describe('models are found by name', () => {
  test('each with its newest version, numbers compared as numbers', async () => {
    for (const version of ['2', '10', '9']) await mkdir(join(modelDir, 'nsfw', version));
    await mkdir(join(modelDir, 'coco/1.9.0'), { recursive: true });
    await mkdir(join(modelDir, 'coco/1.10.0'), { recursive: true });
    await mkdir(join(modelDir, 'Not A Model'));
    assert.deepEqual(await findModels(modelDir), [
      { name: 'coco', version: '1.10.0' },
      { name: 'nsfw', version: '10' },
    ]);
    assert.deepEqual(await findModels(modelDir, ['nsfw']), [{ name: 'nsfw', version: '10' }]);
  });

  test('and a missing one is named beside those that are there', async () => {
    await assert.rejects(findModels(modelDir, ['nsfw', 'cats']), /no model cats in .*; there are: nsfw/);
  });
});

describe('a loaded model', () => {
  test('answers five probabilities that sum to 1, best first', async () => {
    const model = await loadModel(device, modelDir, 'nsfw', '1');
    await model.warmUp();
    const image = await model.decode(await readFile(photos[0] ?? ''));
    const [raw = {}] = await model.infer([image]);
    const predictions = model.predict(raw, image, parseParams(model.manifest, {}));
    assert.ok(Array.isArray(predictions));
    const scores = predictions.map(({ score }) => score);
    assert.equal(scores.length, 5);
    assert.ok(Math.abs(scores.reduce((sum, score) => sum + score, 0) - 1) < 1e-3);
    assert.deepEqual(
      scores,
      [...scores].sort((one, other) => other - one),
    );
    await model.release();
  });

  test('gives each image of a batch its own answer, whatever the batches before', async () => {
    const model = await loadModel(device, modelDir, 'nsfw', '1');
    const images = await Promise.all(photos.slice(0, 3).map(async (photo) => model.decode(await readFile(photo))));
    const forwards = await model.infer(images);
    const backwards = await model.infer([...images].reverse());
    const best = (raw: (typeof forwards)[number] | undefined): number => Math.max(...(raw?.['probabilities'] ?? []));
    assert.equal(new Set(forwards.map(best)).size, 3);
    for (const index of [0, 1, 2]) assert.ok(Math.abs(best(forwards[index]) - best(backwards[2 - index])) < 1e-5);
    await model.release();
  });

  test('refuses a batch over its limit, and one of nothing', async () => {
    const model = await loadModel(device, modelDir, 'nsfw', '1');
    const blank = { pixels: new Uint8Array(224 * 224 * 3), width: 224, height: 224 };
    await assert.rejects(model.infer(Array.from({ length: 9 }, () => blank)), /1 to 8 images on cpu, not 9/);
    await assert.rejects(model.infer([]), /not 0/);
    await assert.rejects(model.infer([{ ...blank, pixels: new Uint8Array(3) }]), /3 bytes instead of 150528/);
    assert.equal((await model.infer([blank])).length, 1);
    await model.release();
  });

  test('keeps its limit of pixels', async () => {
    const model = await loadModel(device, modelDir, 'nsfw', '1', { limitInputPixels: 1000 });
    await assert.rejects(model.decode(await readFile(photos[0] ?? '')), /image_too_large: at most 1000 pixels/);
    await model.release();
  });
});

test('the detector finds the people of a photo, where they are', async () => {
  const model = await loadModel(device, prepared, 'coco', '1');
  const image = await model.decode(await readFile(photos[0] ?? ''));
  const [raw = {}] = await model.infer([image]);
  const found = detectPredictionsSchema.parse(model.predict(raw, image, parseParams(model.manifest, {})));
  // Three women side by side in 1920 × 1280 pixels; the middles of their faces, read off the photo.
  const faces = [
    [490, 470],
    [940, 510],
    [1540, 340],
  ] as const;
  const people = found.filter(({ label }) => label === 'person');
  assert.equal(people.length, faces.length);
  for (const [x, y] of faces) {
    const around = people.filter(({ box }) => holds(box, x, y));
    assert.ok(around.length >= 1, `nobody at ${String(x)}, ${String(y)}`);
  }
  await model.release();
});

function holds([left, top, width, height]: readonly [number, number, number, number], x: number, y: number): boolean {
  return x >= left && x <= left + width && y >= top && y <= top + height;
}
