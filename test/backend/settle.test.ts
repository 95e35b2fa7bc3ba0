import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { executeBatch, failedOutcome, type Outcome } from '../../backend/executor.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { settle } from '../../backend/settle.js';
import { answerFor, expiryOf } from '../../contracts/cached.js';
import { Failure } from '../../contracts/failure.js';
import { cacheKey, replyChannel } from '../../contracts/keys.js';
import { decodeReplies } from '../../contracts/reply.js';
import { decodeResult } from '../../contracts/result.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { startTelemetry } from '../../infra/process/telemetry.js';
import { createBackendMetrics } from '../../backend/metrics.js';
import { scrape } from '../exposition.js';
import { until } from '../integration/system.js';
import { keysLeft, testRedisPair } from '../redis.js';
import {
  enqueueOne,
  type EnqueueRequest,
  deliver,
  enqueueRequest,
  leaveOne,
  pending,
  toyKeys,
  toyStream,
  type WantedTask,
} from '../tasks.js';
import { readyTask } from './deliveries.js';

const { stream, cache } = await testRedisPair();
const client = defineScripts(stream.client());
const cacheClient = cache.client();
const model = simulatedModel({ manifest: { name: 'toy' } });
const {
  meter,
  metricsUrl = '',
  shutdown,
} = await startTelemetry({
  ...{ service: 'sampan-backend', instance: 'one', host: '127.0.0.1', metricsPort: 0, env: {} },
});
after(shutdown);
const metrics = createBackendMetrics(meter, () => []);
const deps = {
  client,
  cache: cacheClient,
  resultSeconds: 60,
  deadSeconds: 60,
  cacheSeconds: 1000,
  metrics,
  random: () => 0.5,
  redisNow: Date.now,
};

const heard: { edge: string; message: Buffer }[] = [];
const subscriber = stream.client();
for (const edge of ['edge-1', 'edge-2']) await subscriber.ssubscribe(replyChannel(edge));
subscriber.on('smessageBuffer', (channel: Buffer, message: Buffer) => {
  heard.push({ edge: channel.toString().includes('edge-1') ? 'edge-1' : 'edge-2', message });
});

beforeEach(async () => {
  await Promise.all([client.flushall(), cacheClient.flushall()]);
  heard.length = 0;
});

interface Held {
  readonly requests: readonly EnqueueRequest[];
  readonly outcomes: readonly Outcome[];
}

/** Tasks that were enqueued, delivered and inferred, and are not settled yet. */
async function inferred(wanted: readonly WantedTask[]): Promise<Held> {
  const requests = wanted.map(enqueueRequest);
  for (const request of requests) await enqueueOne(client, request);
  const entryIds = await deliver(client, 'one', requests.length);
  const batch = requests.map((request, i) => {
    const { id: taskId, spec, image } = request;
    return { ...readyTask(model, image.toString(), { taskId, entryId: entryIds[i] ?? '' }), spec };
  });
  const { outcomes } = await executeBatch(model, batch, { now: () => performance.now(), memory: () => 0 });
  return { requests, outcomes };
}

const images = (...texts: string[]) => texts.map((text) => ({ image: Buffer.from(text) }));

test('every task leaves, its result is stored, and the stored one is the published one', async () => {
  const { requests, outcomes } = await inferred(images('a', 'b', 'c'));
  const settled = await settle(deps, outcomes);
  assert.deepEqual(
    settled.map(({ left }) => left),
    [true, true, true],
  );
  await until(
    () => heard.length,
    (messages) => messages === 1,
  );
  const replies = decodeReplies(heard[0]?.message ?? Buffer.alloc(0));
  assert.deepEqual(
    replies.map(({ id }) => id),
    requests.map(({ id }) => id),
  );
  for (const { id, result } of replies) assert.deepEqual(await client.getBuffer(toyKeys.result(id)), result);
  assert.deepEqual(await pending(client), []);
  assert.deepEqual(await keysLeft(client), [...requests.map(({ id }) => toyKeys.result(id)), toyStream].sort());
});

test('an edge gets one message for a whole batch, with what it waits for and nothing else', async () => {
  const wanted = Array.from({ length: 16 }, (_, i) => ({
    image: Buffer.from(`${i}`),
    edge: i % 2 ? 'edge-1' : 'edge-2',
  }));
  const { requests, outcomes } = await inferred(wanted);
  // One of edge-2's tasks is waited for by edge-1 as well.
  await enqueueOne(client, enqueueRequest({ image: Buffer.from('0'), edge: 'edge-1' }));
  await client.config('RESETSTAT');
  await settle(deps, outcomes);
  await until(
    () => heard.length,
    (messages) => messages === 2,
  );
  assert.match(await client.info('commandstats'), /cmdstat_spublish:calls=2,/);
  const idsFor = (edge: string) =>
    decodeReplies(heard.find((one) => one.edge === edge)?.message ?? Buffer.alloc(0)).map(({ id }) => id);
  const idsOf = (edge: string) => requests.filter((request) => request.edge === edge).map(({ id }) => id);
  assert.deepEqual(idsFor('edge-1').sort(), [requests[0]?.id ?? '', ...idsOf('edge-1')].sort());
  assert.deepEqual(idsFor('edge-2').sort(), idsOf('edge-2').sort());
});

test('a batch leaves by one command', async () => {
  const { outcomes } = await inferred(images('a', 'b', 'c', 'd', 'e', 'f', 'g', 'h'));
  await settle(deps, outcomes);
  const more = await inferred(images('i', 'j', 'k', 'l'));
  await client.config('RESETSTAT');
  await settle(deps, more.outcomes);
  assert.match(await client.info('commandstats'), /cmdstat_evalsha:calls=1,/);
});

test('settling twice changes nothing: what has left is found gone and told to nobody', async () => {
  const { requests, outcomes } = await inferred(images('a', 'b'));
  await leaveOne(client, requests[0]?.id ?? '', { reason: 'cancelled' });
  assert.deepEqual(
    (await settle(deps, outcomes)).map(({ left }) => left),
    [false, true],
  );
  await until(
    () => heard.length,
    (messages) => messages === 1,
  );
  await client.config('RESETSTAT');
  assert.deepEqual(
    (await settle(deps, outcomes)).map(({ left }) => left),
    [false, false],
  );
  assert.doesNotMatch(await client.info('commandstats'), /cmdstat_spublish/);
  assert.equal(await client.exists(toyKeys.result(requests[0]?.id ?? '')), 0);
});

test('an answer is cached under its work, with its SHA-256, for about the time it is to be kept', async () => {
  const { requests, outcomes } = await inferred(images('a'));
  await settle(deps, outcomes);
  const [request] = requests;
  assert.ok(request);
  const key = cacheKey(request.work);
  await until(
    () => cacheClient.exists(key),
    (exists) => exists === 1,
  );
  const cached = await cacheClient.getBuffer(key);
  const answer: Record<string, unknown> = JSON.parse(String(cached && answerFor(cached, request.spec.sha256)));
  assert.deepEqual(
    [answer['id'], answer['cache'], answer['model'], answer['version']],
    [request.id, 'hit', 'toy', '1'],
  );
  const stored = decodeResult((await client.getBuffer(toyKeys.result(request.id))) ?? Buffer.alloc(0));
  assert.ok(stored.outcome === 'succeeded');
  assert.deepEqual(answer['predictions'], JSON.parse(Buffer.from(stored.predictions).toString()));
  const ttl = await cacheClient.ttl(key);
  assert.ok(ttl > 900);
  // Both are whole seconds of moments that lie apart.
  assert.ok(Math.abs((cached ? expiryOf(cached) : 0) - Date.now() / 1000 - ttl) <= 3);
});

test('what failed, and what somebody else had ended, is not cached', async () => {
  const { requests, outcomes } = await inferred(images('a', 'b', 'c'));
  const [a, b, c] = outcomes;
  assert.ok(a && b && c);
  const failed = failedOutcome({ ...a, spec: a.spec }, new Failure('image_unreadable', 'torn'), 'image_unreadable');
  await leaveOne(client, b.delivery.taskId, { reason: 'cancelled' });
  await settle(deps, [failed, b, c]);
  await until(
    () => cacheClient.dbsize(),
    (size) => size === 1,
  );
  assert.deepEqual(await keysLeft(cacheClient), [cacheKey(requests[2]?.work ?? '')]);
});

test('a task whose entry could not be read is told and leaves, though nothing is known of it', async () => {
  const { requests, outcomes } = await inferred(images('a'));
  const [outcome] = outcomes;
  assert.ok(outcome);
  const unreadable = failedOutcome(
    { ...outcome, spec: undefined },
    new Failure('task_unreadable', 'v'),
    'task_unreadable',
  );
  assert.deepEqual(
    (await settle(deps, [unreadable])).map(({ left }) => left),
    [true],
  );
  await until(
    () => heard.length,
    (messages) => messages === 1,
  );
  const stored = decodeResult((await client.getBuffer(toyKeys.result(requests[0]?.id ?? ''))) ?? Buffer.alloc(0));
  assert.ok(stored.outcome === 'failed');
  assert.equal(stored.code, 'task_unreadable');
});

test('nothing to settle costs no command', async () => {
  await client.config('RESETSTAT');
  assert.deepEqual(await settle(deps, []), []);
  assert.doesNotMatch(await client.info('commandstats'), /cmdstat_(eval|evalsha|spublish)/);
});

test('a cache that is away, slow or switched off changes nothing', async () => {
  const away = cache.adopt(new Redis({ port: 1, retryStrategy: () => null, lazyConnect: true }));
  for (const [i, replaced] of [undefined, away].entries()) {
    const { outcomes } = await inferred(images(`away ${i}`));
    assert.deepEqual(
      (await settle({ ...deps, cache: replaced }, outcomes)).map(({ left }) => left),
      [true],
    );
  }
  const operator = cache.client();
  await operator.call('CLIENT', 'PAUSE', '600000', 'WRITE');
  const { outcomes } = await inferred(images('slow'));
  assert.deepEqual(
    (await settle(deps, outcomes)).map(({ left }) => left),
    [true],
  );
  assert.equal(await operator.dbsize(), 0);
  assert.deepEqual(await pending(client), []);
  await operator.call('CLIENT', 'UNPAUSE');
  await until(
    () => operator.dbsize(),
    (size) => size === 1,
  );
});

test('a cache that breaks while it is written to is counted, and the tasks have left all the same', async () => {
  const breaking = cache.adopt(new Redis(cache.url, { maxRetriesPerRequest: 0, retryStrategy: () => null }));
  breaking.on('error', () => undefined);
  await breaking.ping();
  const failed = async () =>
    (await scrape(metricsUrl)).find('cache_writes_total', { outcome: 'failed' })[0]?.value ?? 0;
  const before = await failed();
  const { outcomes } = await inferred(images('breaks'));
  const operator = cache.client();
  const id = await breaking.client('ID');
  await operator.call('CLIENT', 'PAUSE', '600000', 'WRITE');
  assert.deepEqual(
    (await settle({ ...deps, cache: breaking }, outcomes)).map(({ left }) => left),
    [true],
  );
  await operator.client('KILL', 'ID', id);
  await until(failed, (count) => count === before + 1);
  await operator.call('CLIENT', 'UNPAUSE');
});

test('where the stream is away settling throws, so that it is tried again', async () => {
  const { outcomes } = await inferred(images('a'));
  const gone = defineScripts(stream.adopt(new Redis({ port: 1, retryStrategy: () => null, maxRetriesPerRequest: 0 })));
  gone.on('error', () => undefined);
  await assert.rejects(settle({ ...deps, client: gone }, outcomes));
  assert.deepEqual(
    (await settle({ ...deps, cache: undefined }, outcomes)).map(({ left }) => left),
    [true],
  );
});
