import assert from 'node:assert/strict';
import { mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { prepareModels } from '../../../infra/models/prepare.js';

let modelDir: string;

before(async () => {
  modelDir = await mkdtemp(join(tmpdir(), 'models-'));
});

after(() => rm(modelDir, { recursive: true }));

async function prepared(): Promise<boolean[]> {
  const written: boolean[] = [];
  await prepareModels(modelDir, (model) => written.push(model.written));
  return written;
}

test('models are converted once and then left alone', async () => {
  assert.deepEqual(await prepared(), [true, true]);
  const first = await stat(join(modelDir, 'coco/1/model.onnx'));
  assert.deepEqual(await prepared(), [false, false]);
  assert.equal((await stat(join(modelDir, 'coco/1/model.onnx'))).mtimeMs, first.mtimeMs);
  assert.deepEqual((await readdir(join(modelDir, 'coco/1'))).sort(), ['manifest.json', 'model.onnx']);
});

test('a damaged model and an edited manifest are made anew', async () => {
  const whole = await readFile(join(modelDir, 'nsfw/1/model.onnx'));
  await writeFile(join(modelDir, 'nsfw/1/model.onnx'), whole.subarray(0, 1000));
  assert.deepEqual(await prepared(), [true, false]);
  assert.deepEqual(await readFile(join(modelDir, 'nsfw/1/model.onnx')), whole);
  await writeFile(join(modelDir, 'nsfw/1/manifest.json'), '{"name":');
  assert.deepEqual(await prepared(), [true, false]);
});

test('two that prepare at once leave whole models', async () => {
  await rm(join(modelDir, 'nsfw'), { recursive: true });
  await Promise.all([prepared(), prepared()]);
  assert.deepEqual(await prepared(), [false, false]);
});
