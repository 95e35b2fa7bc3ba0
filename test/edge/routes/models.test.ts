import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { publishModels } from '../../../contracts/catalogue.js';
import { testRedis } from '../../redis.js';
import { edgeUnderTest, serveModels, toyManifest } from '../edge-under-test.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
await publishModels(client, [{ ...toyManifest, name: 'idle', version: '7', task: 'embed', thresholds: {} }]);
client.disconnect();
const edge = await edgeUnderTest(stream.url);

async function get(path: string): Promise<unknown> {
  const answer = await fetch(`${edge.url}${path}`);
  assert.equal(answer.status, 200);
  return answer.json();
}

test('the list tells of every model what it is, what it takes, and how many serve it', async () => {
  const { description, input } = toyManifest;
  const common = { description, input: { width: input.width, height: input.height }, labelCount: 2 };
  assert.deepEqual(await get('/v1/models'), {
    models: [
      { ...common, name: 'idle', version: '7', task: 'embed', params: {}, liveConsumers: 0 },
      { ...common, name: 'toy', version: '1', task: 'classify', params: { top: 2, minScore: 0 }, liveConsumers: 1 },
    ],
  });
});

test('one model is told with its labels, its licence and its consumers', async () => {
  const shown = await get('/v1/models/toy');
  assert.ok(
    typeof shown === 'object' && shown !== null && 'labels' in shown && 'licence' in shown && 'consumers' in shown,
  );
  assert.deepEqual(shown.labels, toyManifest.labels);
  assert.equal(shown.licence, toyManifest.licence);
  assert.deepEqual(shown.consumers, [
    { consumer: 'test-consumer', device: { kind: 'simulated', name: 'none' }, tasksPerSecond: 10 },
  ]);
});

test('health is told as JSON, and an edge that is not ready says why', async () => {
  assert.deepEqual(await get('/healthz'), { status: 'live' });
  assert.deepEqual(await get('/readyz'), { status: 'ready', reasons: [] });
  const reasons = ['the stream cannot be reached'];
  const unready = await edgeUnderTest(stream.url, { ready: () => Promise.resolve({ ready: false, reasons }) });
  const answer = await fetch(`${unready.url}/readyz`);
  assert.equal(answer.status, 503);
  assert.deepEqual(await answer.json(), { status: 'not ready', reasons });
});
