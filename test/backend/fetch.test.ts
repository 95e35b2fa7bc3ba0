import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { fetchDeadline, fetchImages } from '../../backend/fetch.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { newTaskId } from '../../contracts/task.js';
import { seededRandom } from '../random.js';
import { testRedis } from '../redis.js';
import { enqueueOne, enqueueRequest, leaveOne } from '../tasks.js';
import { deliveryOf } from './deliveries.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const model = simulatedModel({ manifest: { name: 'toy' } });
beforeEach(() => client.flushall());

const deliveries = (ids: readonly string[]) => ids.map((taskId) => deliveryOf(model, { taskId }));

test('images come in the order of their deliveries, byte for byte, and a task that has left has none', async () => {
  const random = seededRandom(14);
  const requests = Array.from({ length: 20 }, (_, i) => enqueueRequest({ image: random.bytes(1 + i * 100) }));
  for (const request of requests) await enqueueOne(client, request);
  const gone = requests[7];
  assert.ok(gone);
  await leaveOne(client, gone.id);
  const ids = random.shuffled(requests.map(({ id }) => id));
  const images = await fetchImages(client, 'toy', deliveries(ids));
  const expected = ids.map((id) => (id === gone.id ? undefined : requests.find((request) => request.id === id)?.image));
  assert.deepEqual(images, expected);
});

test('all images of a batch come by one command', async () => {
  const requests = Array.from({ length: 30 }, (_, i) => enqueueRequest({ image: Buffer.from(`${i}`) }));
  for (const request of requests) await enqueueOne(client, request);
  await client.config('RESETSTAT');
  await fetchImages(client, 'toy', deliveries(requests.map(({ id }) => id)));
  assert.match(await client.info('commandstats'), /cmdstat_mget:calls=1,/);
});

test('a deadline is told as joins have left it, and not at all of a task that has left', async () => {
  const { how, ...first } = {
    deadline: 0,
    ...(await enqueueOne(client, enqueueRequest({ id: newTaskId('toy'), timeLeftMs: 1000 }))),
  };
  assert.equal(how, 'admitted');
  const id = 'id' in first ? first.id : '';
  assert.equal(await fetchDeadline(client, 'toy', id), first.deadline);
  await enqueueOne(client, enqueueRequest({ timeLeftMs: 100_000 }));
  assert.ok(((await fetchDeadline(client, 'toy', id)) ?? 0) > first.deadline + 90_000);
  await leaveOne(client, id);
  assert.equal(await fetchDeadline(client, 'toy', id), undefined);
});
