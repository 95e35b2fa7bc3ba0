import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { detectPredictionsSchema } from '../../contracts/prediction.js';
import { loadConfig } from '../../backend/config.js';
import { openModels } from '../../backend/model/served-models.js';
import { peoplePhotos } from '../photos.js';
import { preparedModels } from '../prepared-models.js';
import { leftovers, nothingLeft, predict, testSystem, until } from './system.js';

const system = await testSystem();
const photo = await readFile(peoplePhotos[0] ?? '');
const md5 = createHash('md5').update(photo).digest('hex');
const sha256 = createHash('sha256').update(photo).digest('hex');
let url = '';

before(async () => {
  const modelDir = await preparedModels();
  const served = await openModels(loadConfig({ ...system.env, MODEL_DIR: modelDir }));
  await system.backend(served);
  ({ url } = await system.edge({ SAMPAN_LOOKUP_MD5_ONLY: 'true' }));
});

test('a photo is a miss, then a hit with the same predictions, then found by its MD5', async () => {
  const miss = await predict(url, 'nsfw', photo);
  assert.deepEqual([miss.status, miss.cache, miss.body.cache], [200, 'miss', 'miss']);
  const sum = miss.body.predictions.reduce((total: number, { score }: { score: number }) => total + score, 0);
  assert.ok(Math.abs(sum - 1) < 1e-3, `the probabilities sum to ${String(sum)}`);
  assert.equal(miss.body.predictions.length, 5);

  await until(
    () => system.cache.dbsize(),
    (size) => size === 1,
  );
  const hit = await predict(url, 'nsfw', photo);
  assert.deepEqual([hit.status, hit.cache, hit.body.cache], [200, 'hit', 'hit']);
  assert.deepEqual(hit.body.predictions, miss.body.predictions);
  assert.equal(hit.body.id, miss.body.id);

  const found = await fetch(`${url}/v1/models/nsfw/results/${md5}?sha256=${sha256}`);
  assert.equal(found.status, 200);
  assert.deepEqual(await found.json(), hit.body);
  const byMd5 = await fetch(`${url}/v1/models/nsfw/results/${md5}`);
  assert.deepEqual(await byMd5.json(), hit.body);
  assert.deepEqual(await leftovers(system.stream, 'nsfw'), nothingLeft);
});

test('parameters are part of the question: other ones are not answered from the cache', async () => {
  const five = await predict(url, 'nsfw', photo);
  assert.equal(five.cache, 'hit');
  const response = await fetch(`${url}/v1/models/nsfw/predict?top=2`, { method: 'POST', body: photo });
  assert.equal(response.headers.get('x-cache'), 'miss');
  const two = (await response.json()) as { predictions: unknown[] };
  assert.deepEqual(two.predictions, five.body.predictions.slice(0, 2));
});

test('a lookup may be kept by its caller for as long as the answer is kept here; HEAD tells the same without a body', async () => {
  const path = `${url}/v1/models/nsfw/results/${md5}?sha256=${sha256}`;
  const found = await fetch(path);
  const [, seconds = ''] = /^private, max-age=(\d+)$/.exec(found.headers.get('cache-control') ?? '') ?? [];
  const ttl = await system.cache.ttl((await keysOf('nsfw')).find((key) => key.includes('top=5')) ?? '');
  assert.ok(Math.abs(Number(seconds) - ttl) <= 3, `${seconds} s told, ${String(ttl)} s left`);
  const head = await fetch(path, { method: 'HEAD' });
  assert.deepEqual([head.status, await head.text()], [200, '']);
  for (const name of ['etag', 'content-type', 'x-cache']) {
    assert.equal(head.headers.get(name), found.headers.get(name));
  }
});

test('the detector answers boxes in pixels of the photo, the same from the cache', async () => {
  const miss = await predict(url, 'coco', photo);
  assert.equal(miss.status, 200);
  const people = detectPredictionsSchema.parse(miss.body.predictions).filter(({ label }) => label === 'person');
  assert.ok(people.length >= 3, `${String(people.length)} people were found`);
  for (const {
    box: [x, y, width, height],
  } of people) {
    assert.ok(x >= 0 && y >= 0 && width > 0 && height > 0 && x + width <= 1920 && y + height <= 1280);
  }
});

test('an operator removes cached answers by model, version or picture, and no others', async () => {
  await until(
    () => keysOf('coco'),
    (keys) => keys.length === 1,
  );
  await system.cache.set('elsewhere', 'stays');
  const count = (await keysOf('nsfw')).length;
  assert.match(await purge('--model', 'nsfw', '--version', 'none'), /^0 /);
  assert.match(await purge('--md5', '0'.repeat(32)), /^0 /);
  assert.match(await purge('--model', 'nsf*'), /^0 /, 'names are no patterns');
  assert.match(await purge('--model', 'nsfw', '--md5', md5), new RegExp(`^${String(count)} `));
  assert.equal((await predict(url, 'nsfw', photo)).cache, 'miss');
  assert.equal((await keysOf('coco')).length, 1);
  assert.match(await purge('--all'), /^[12] /);
  assert.equal(await system.cache.get('elsewhere'), 'stays');
  await assert.rejects(purge(), /say which/);
});

const keysOf = (model: string) => system.cache.keys(`sampan:cache:*:${model}:*`);
const main = fileURLToPath(new URL('../../infra/ops/main.js', import.meta.url));

async function purge(...words: readonly string[]): Promise<string> {
  const args = [main, 'cache', 'purge', ...words];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env: { ...process.env, ...system.env } });
  return stdout;
}
