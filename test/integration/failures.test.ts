import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, test } from 'node:test';
import { createLatch } from '../../backend/model/latch.js';
import { decodeImage } from '../../backend/model/preprocess.js';
import { simulatedManifest, simulatedModel } from '../../backend/model/simulated-model.js';
import { publishModels } from '../../contracts/catalogue.js';
import { failures, isFailureCode, type FailureCode } from '../../contracts/failure.js';
import { partitionKeys } from '../../contracts/keys.js';
import { register, type Registration } from '../../contracts/register.js';
import { encodeResult } from '../../contracts/result.js';
import { leave } from '../../contracts/scripts/leave.js';
import { defineScripts, letGo, type StreamClient } from '../../contracts/scripts/scripts.js';
import { scrape } from '../exposition.js';
import { picture } from '../pictures.js';
import { testRedis } from '../redis.js';
import { deliver } from '../tasks.js';
import { accessFailures, type Answer } from './access-failures.js';
import { servedBy, testSystem, until } from './system.js';

const system = await testSystem();
const stream = defineScripts(system.stream);
/** A stream role of its own, which will be stopped. */
const doomed = await testRedis();

const latch = createLatch();
const latched = simulatedModel({ latch, manifest: { name: 'latched' } });
const failing = simulatedModel({ faults: { failRunOn: '#fails#' }, manifest: { name: 'failing' } });
const aged = simulatedModel({ manifest: { name: 'aged' } });
const plain = simulatedModel({ manifest: { name: 'plain' } });
const decoding = { ...plain, decode: (image: Uint8Array) => decodeImage(image, plain.manifest.input, 1e8) };
let url = '';
let metricsUrl = '';
/** Of an edge that wants keys. */
let guarded = '';

/** Models that nobody serves, and a consumer that says it does: what becomes of their tasks is written by hand. */
async function pretend(client: StreamClient, consumer: string, models: readonly { name: string; version?: string }[]) {
  const manifests = models.map((changes) => simulatedManifest(changes));
  const registration: Registration = {
    ...{ v: 1, consumer, device: { kind: 'simulated', name: 'none' }, state: 'ready', startedAt: 0, lastReadAt: 0 },
    models: manifests.map(({ name, version }) => ({ model: name, version, tasksPerSecond: 0 })),
    memory: { residentBytes: 1 },
  };
  await publishModels(client, manifests);
  await register(client, registration, Date.now());
  await client.persist(`sampan:consumer:${consumer}`);
}

before(async () => {
  await system.backend(servedBy(latched, failing, aged, decoding));
  const edge = await system.edge({ SAMPAN_MAX_BODY_BYTES: '65536', SAMPAN_MAX_PIXELS: '100000' });
  [url, metricsUrl] = [edge.url, edge.metricsUrl ?? ''];
  guarded = (await system.edge({ SAMPAN_AUTH: 'on' })).url;
  await publishModels(stream, [simulatedManifest({ name: 'idle' })]);
  const unserved = ['losing', 'later', 'broken', 'deadly'].map((name) => ({ name }));
  // The real consumer of `aged` holds version 1.
  await pretend(stream, 'by-hand', [...unserved, { name: 'aged', version: '2' }]);
});

async function ask(path: string, init: RequestInit = {}, base = url): Promise<Answer> {
  const response = await fetch(`${base}${path}`, init);
  return { status: response.status, headers: response.headers, text: await response.text() };
}

const predict = (
  model: string,
  body: string | Uint8Array<ArrayBuffer> = picture('plain'),
  headers: Record<string, string> = {},
  base = url,
) => ask(`/v1/models/${model}/predict`, { method: 'POST', body, headers }, base);
const json = { 'content-type': 'application/json' };
const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
const predicting = { endpoint: '/v1/models/:model/predict', cache: 'none' };
const md5 = createHash('md5').update('nobody sent this').digest('hex');

/** The id of the one task of a model that is in flight. */
async function taskInFlight(model: string): Promise<string> {
  const work = await until(
    () => stream.hgetall(partitionKeys(model).work),
    (tasks) => Object.keys(tasks).length === 1,
  );
  return Object.values(work)[0] ?? '';
}

/** A PNG that says it has a million pixels, and has none. */
function hugePng(): Uint8Array<ArrayBuffer> {
  const header = Buffer.alloc(33);
  header.set([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0, 0, 13, 0x49, 0x48, 0x44, 0x52]);
  header.writeUInt32BE(1000, 16);
  header.writeUInt32BE(1000, 20);
  header.set([8, 2, 0, 0, 0], 24);
  return header;
}

/** Ends a request in the middle of its body: nobody is left to be answered, but the edge counts what it was. */
async function cutOff(): Promise<undefined> {
  const counted = async () => {
    const [count] = (await scrape(metricsUrl)).find('api_latency_seconds_count', { ...predicting, status: '400' });
    return count?.value ?? 0;
  };
  const before = await counted();
  const socket = connect(Number(new URL(url).port), '127.0.0.1').resume();
  socket.end('POST /v1/models/plain/predict HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc');
  await once(socket, 'close');
  await until(counted, (count) => count === before + 1);
}

/** Sends one picture to a model that nobody reads, and lets `fate` decide about its task meanwhile. */
async function fated(model: string, timeoutMs: number, fate: (taskId: string) => Promise<unknown>): Promise<Answer> {
  const asked = predict(model, picture(model), { 'x-timeout-ms': `${timeoutMs}` });
  await fate(await taskInFlight(model));
  return asked;
}

/** Sends two pictures under one Idempotency-Key. */
async function twiceUnderOneKey(): Promise<Answer> {
  const headers = { prefer: 'respond-async', 'idempotency-key': 'twice' };
  assert.equal((await predict('plain', picture('first under a key'), headers)).status, 202);
  return predict('plain', picture('second under a key'), headers);
}

/** Of requests with many pictures: integration/batch-ends.test.ts. */
type OfBatches = 'too_many_images' | 'edge_stopping';
/** Of what never becomes a request with an id: edge/refused-requests.test.ts. */
type Unparsed = 'malformed_request' | 'request_timeout' | 'headers_too_large';

/** How each failure comes about; a code without a way does not compile. */
const ways: Record<Exclude<FailureCode, OfBatches | Unparsed>, () => Promise<Answer | undefined>> = {
  invalid_params: () => ask('/v1/models/plain/predict?top=1e3', { method: 'POST', body: picture('p') }),
  invalid_header: () => predict('plain', picture('p'), { 'x-timeout-ms': '-1' }),
  invalid_multipart: () => predict('plain', '--b\r\nnothing that ends', multipart),
  invalid_json: () => predict('plain', '{"image"', json),
  invalid_base64: () => predict('plain', '{"image":"?"}', json),
  invalid_digest: () => ask('/v1/models/plain/results/xyz'),
  image_missing: () => predict('plain', '{"params":{}}', json),
  sha256_required: () => ask(`/v1/models/plain/results/${md5}`),
  body_incomplete: cutOff,
  route_not_found: () => ask('/v1/nothing'),
  model_not_found: () => predict('unheard-of'),
  result_not_found: () => ask(`/v1/models/plain/results/${md5}?sha256=${'0'.repeat(64)}`),
  task_not_found: () => ask(`/v1/tasks/plain.0.${'0'.repeat(36)}`),
  idempotency_mismatch: twiceUnderOneKey,
  method_not_allowed: () => ask('/v1/models', { method: 'DELETE' }),
  body_too_large: () => predict('plain', picture('large', 100_000)),
  unsupported_content_type: () => predict('plain', picture('p'), { 'content-type': 'text/plain' }),
  unsupported_image: () => predict('plain', Buffer.from('BM, as bitmaps begin')),
  image_unreadable: () => {
    const whole = picture('damaged');
    return predict('plain', Buffer.concat([whole.subarray(0, 200), Buffer.alloc(whole.length - 200, 0x55)]));
  },
  image_too_large: () => predict('plain', hugePng()),
  inference_failed: () => predict('failing', picture('fails')),
  task_unreadable: () =>
    fated('later', 30_000, async (id) => {
      // A consumer of an older release finds a task of a newer one.
      const tasks = partitionKeys('later').tasks('normal');
      const [[entryId] = ['']] = await stream.xrange(tasks, '-', '+');
      await stream
        .multi()
        .del(tasks)
        .xadd(tasks, entryId, 'task', JSON.stringify({ v: 2, id, new: 'field' }))
        .exec();
      await system.backend(servedBy(simulatedModel({ manifest: { name: 'later' } })));
    }),
  task_dead: () =>
    fated('deadly', 30_000, async (id) => {
      // Two runs alone ended their process, and so did the consumer that has the task now.
      const keys = partitionKeys('deadly');
      await stream.hset(keys.task(id), 'solos', 2);
      const [entryId = ''] = await deliver(stream, 'a consumer that died', 1, keys.tasks('normal'));
      await letGo(defineScripts(stream), keys.tasks('normal'), 'a consumer that died', [entryId]);
      await system.backend(servedBy(simulatedModel({ manifest: { name: 'deadly' } })), { SAMPAN_LEASE_MS: '200' });
    }),
  internal: () =>
    fated('broken', 30_000, async (taskId) => {
      const result = encodeResult({ outcome: 'failed', code: 'internal', detail: 'what nobody foresaw' });
      const from = { model: 'broken', lane: 'normal', keepResultMs: 60_000 } as const;
      await leave(stream, from, [{ taskId, reason: 'failed', result }]);
    }),
  no_live_consumer: () => predict('idle'),
  model_version_gone: () => predict('aged', picture('aged'), { 'x-timeout-ms': '30000' }),
  ...accessFailures({ stream, latch, edge: system.edge, guarded: () => guarded, ask, predict }),
  overloaded: async () => {
    const { url: narrow } = await system.edge({ SAMPAN_MAX_TASKS: '1' });
    latch.hold();
    const first = predict('latched', picture('first'), {}, narrow);
    await latch.arrived();
    const second = await predict('latched', picture('second'), {}, narrow);
    latch.release();
    assert.equal((await first).status, 200);
    return second;
  },
  stream_unavailable: async () => {
    const client = doomed.client();
    await pretend(client, 'by-hand', [{ name: 'plain' }]);
    const { url: cutOffEdge } = await system.edge({ REDIS_URL: doomed.url });
    client.disconnect();
    await doomed.stop();
    return predict('plain', picture('p'), {}, cutOffEdge);
  },
  task_lost: () => fated('losing', 1_000, (id) => stream.del(partitionKeys('losing').task(id))),
  deadline_exceeded: async () => {
    latch.hold();
    const late = await predict('latched', picture('late'), { 'x-timeout-ms': '200' });
    latch.release();
    return late;
  },
};

for (const [code, way] of Object.entries(ways)) {
  test(`${code} is reached through the whole system, and told as the table says`, async () => {
    const answer = await way();
    assert.ok(isFailureCode(code));
    if (answer) assertProblem(code, answer);
    else assert.equal(code, 'body_incomplete');
  });
}

function assertProblem(code: FailureCode, { status, headers, text }: Answer): void {
  const { traceId, detail, models, ...body }: Record<string, unknown> = JSON.parse(text);
  const { status: stated, retryable, message } = failures[code];
  const requestId = headers.get('x-request-id');
  assert.deepEqual(body, { type: `/problems/${code}`, title: message, status: stated, code, retryable, requestId });
  assert.equal(status, stated);
  assert.equal(headers.get('content-type'), 'application/problem+json');
  assert.match(String(requestId), /^[0-9a-f-]{36}$/);
  assert.match(String(traceId), /^(?!0{32})[0-9a-f]{32}$/);
  assert.equal(headers.get('traceresponse')?.split('-')[1], traceId);
  assert.ok(typeof detail === 'string' && detail.length > 0);
  assert.equal(Array.isArray(models), code === 'model_not_found');
  if (stated === 503) assert.match(headers.get('retry-after') ?? '', /^([1-9]|[12]\d|30)$/);
  else if (stated === 429) assert.match(headers.get('retry-after') ?? '', /^[1-9]\d{0,4}$/);
  else assert.equal(headers.get('retry-after'), null);
  assert.equal(headers.has('www-authenticate'), stated === 401);
}

test('what failed leaves nothing behind', async () => {
  for (const model of ['latched', 'failing', 'aged', 'plain', 'later', 'broken', 'deadly']) {
    const { work, load } = partitionKeys(model);
    await until(
      () => Promise.all([stream.exists(work, load), stream.xlen(partitionKeys(model).tasks('normal'))]),
      ([keys, entries]) => keys === 0 && entries === 0,
    );
  }
});
