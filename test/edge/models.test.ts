import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { Redis } from 'ioredis';
import { publishModels } from '../../contracts/catalogue.js';
import { Failure } from '../../contracts/failure.js';
import { register, unregister, type Registration } from '../../contracts/register.js';
import { findModel, findServedModel, startModelView } from '../../edge/models.js';
import { testRedis } from '../redis.js';
import { eventually, serveModels, toyManifest } from './edge-under-test.js';

const server = await testRedis();
const client = new Redis(server.url);
const viewer = new Redis(server.url, { maxRetriesPerRequest: 0, enableOfflineQueue: false });
for (const one of [client, viewer]) one.on('error', () => undefined);
await new Promise((resolve) => viewer.once('ready', resolve));
after(() => {
  client.disconnect();
  viewer.disconnect();
});
const clock = { now: () => performance.now() };

async function viewOf(pollMs: number) {
  const view = await startModelView({ client: viewer, clock, pollMs });
  after(() => view.stop());
  return view;
}

async function code(asked: Promise<unknown>): Promise<string> {
  try {
    await asked;
    return 'found';
  } catch (error) {
    return error instanceof Failure ? error.code : String(error);
  }
}

const never = 1_000_000;
const served = { model: 'toy', version: '1', tasksPerSecond: 5 };
const registration: Registration = {
  ...{ v: 1, consumer: 'other', device: { kind: 'cpu', name: 'x' }, state: 'ready', models: [served] },
  ...{ memory: { residentBytes: 1 }, startedAt: 0, lastReadAt: 0 },
};

test('news are seen by the very request that needs them, and one look serves all who wait', async () => {
  const view = await viewOf(never);
  // An empty catalogue may have been lost, and is told again by the consumers that live.
  assert.equal(await code(findServedModel(view, 'toy')), 'no_live_consumer');
  await publishModels(client, [{ ...toyManifest, name: 'other' }]);
  assert.equal(await code(findServedModel(view, 'toy')), 'model_not_found');
  await publishModels(client, [toyManifest]);
  assert.equal(await code(findServedModel(view, 'toy')), 'no_live_consumer');
  await serveModels(client, [toyManifest]);
  const before = await readsOfTheCatalogue();
  const asked = await Promise.all(Array.from({ length: 500 }, () => code(findServedModel(view, 'toy'))));
  assert.ok(asked.every((one) => one === 'found'));
  assert.equal((await readsOfTheCatalogue()) - before, 1);
});

test('a model that is known and served costs no command', async () => {
  const view = await viewOf(never);
  const before = await readsOfTheCatalogue();
  for (let count = 0; count < 100; count += 1) await findServedModel(view, 'toy');
  assert.equal((await readsOfTheCatalogue()) - before, 0);
});

test('a flood of names that do not exist is looked up a few times at most', async () => {
  const view = await viewOf(never);
  const before = await readsOfTheCatalogue();
  await Promise.all(Array.from({ length: 1000 }, (_, index) => code(findModel(view, `none-${index}`))));
  assert.ok((await readsOfTheCatalogue()) - before <= 2);
});

test('consumers count only while they live, take work, and hold the active version', async () => {
  const view = await viewOf(never);
  const count = async () => {
    await view.refresh();
    return view.consumers(toyManifest).length;
  };
  assert.equal(await count(), 1);
  await register(client, registration, Date.now());
  assert.equal(await count(), 2);
  assert.equal(view.tasksPerSecond('toy'), 15);
  await register(client, { ...registration, state: 'draining' }, Date.now());
  assert.equal(await count(), 1);
  await register(client, { ...registration, models: [{ ...served, version: '0' }] }, Date.now());
  assert.equal(await count(), 1);
  await unregister(client, 'other');
  assert.equal(await count(), 1);
  assert.equal(view.tasksPerSecond('none'), 0);
});

test('the view keeps itself fresh in the background', async () => {
  const view = await viewOf(10);
  await publishModels(client, [{ ...toyManifest, version: '2' }]);
  await eventually(() => view.catalogue().get('toy')?.version === '2', 'the new version is seen');
});

test('while the stream is away the last view keeps serving, and nothing is said not to exist', async () => {
  const view = await viewOf(10);
  await serveModels(client, [toyManifest]);
  await eventually(() => view.catalogue().get('toy')?.version === '1', 'the model is seen');
  await server.stop();
  assert.equal(await code(findServedModel(view, 'toy')), 'found');
  assert.equal(await code(findServedModel(view, 'none')), 'stream_unavailable');
});

async function readsOfTheCatalogue(): Promise<number> {
  const stats = await client.info('commandstats');
  return Number(/cmdstat_hget:calls=(\d+)/.exec(stats)?.[1] ?? 0);
}
