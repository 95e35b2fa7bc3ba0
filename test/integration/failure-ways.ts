import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import type { FailureCode } from '../../contracts/failure.js';
import { partitionKeys } from '../../contracts/keys.js';
import type { unparsed } from '../../edge/openapi/operation.js';
import { encodeResult } from '../../contracts/result.js';
import { leave } from '../../contracts/scripts/leave.js';
import { letGo } from '../../contracts/scripts/scripts.js';
import { scrape } from '../exposition.js';
import { picture } from '../pictures.js';
import { deliver } from '../tasks.js';
import type { TestRedis } from '../redis.js';
import { accessFailures, type Answer } from './access-failures.js';
import { pretend, type FailingSystem } from './failing-system.js';
import { linesOf } from './batches.js';
import { servedBy, until } from './system.js';
import { keyOf } from './tenants.js';

/**
 * How each failure comes about; a code without a way does not compile. Of body_incomplete nobody is left to be told; what
 * never becomes a request is told in edge/refused-requests.test.ts.
 * @param doomed a stream role of its own, which will be stopped
 */
export function failureWays(
  failing: FailingSystem,
  doomed: TestRedis,
): Record<Exclude<FailureCode, (typeof unparsed)[number]>, () => Promise<Answer | undefined>> {
  const { system, latch, guarded, ask, predict } = failing;
  return {
    ...requestFailures(failing),
    ...imageFailures(failing),
    ...consumerFailures(failing),
    ...edgeFailures(failing, doomed),
    ...accessFailures({ stream: system.stream, latch, edge: system.edge, guarded: () => guarded, ask, predict }),
  };
}

const json = { 'content-type': 'application/json' };
const multipart = { 'content-type': 'multipart/form-data; boundary=b' };
const md5 = createHash('md5').update('nobody sent this').digest('hex');

/** What is wrong with a request itself. */
function requestFailures(failing: FailingSystem) {
  const { ask, predict } = failing;
  return {
    invalid_params: () => ask('/v1/models/plain/predict?top=1e3', { method: 'POST', body: picture('p') }),
    invalid_header: () => predict('plain', picture('p'), { 'x-timeout-ms': '-1' }),
    invalid_multipart: () => predict('plain', '--b\r\nnothing that ends', multipart),
    invalid_json: () => predict('plain', '{"image"', json),
    invalid_base64: () => predict('plain', '{"image":"?"}', json),
    invalid_digest: () => ask('/v1/models/plain/results/xyz'),
    image_missing: () => predict('plain', '{"params":{}}', json),
    sha256_required: () => ask(`/v1/models/plain/results/${md5}`),
    body_incomplete: () => cutOff(failing),
    route_not_found: () => ask('/v1/nothing'),
    model_not_found: () => predict('unheard-of'),
    result_not_found: () => ask(`/v1/models/plain/results/${md5}?sha256=${'0'.repeat(64)}`),
    task_not_found: () => ask(`/v1/tasks/plain.0.${'0'.repeat(36)}`),
    idempotency_mismatch: () => twiceUnderOneKey(failing),
    method_not_allowed: () => ask('/v1/models', { method: 'DELETE' }),
    body_too_large: () => predict('plain', picture('large', 100_000)),
    unsupported_content_type: () => predict('plain', picture('p'), { 'content-type': 'text/plain' }),
  };
}

/** What is wrong with an image. */
function imageFailures({ predict }: FailingSystem) {
  return {
    unsupported_image: () => predict('plain', Buffer.from('BM, as bitmaps begin')),
    image_unreadable: () => {
      const whole = picture('damaged');
      return predict('plain', Buffer.concat([whole.subarray(0, 200), Buffer.alloc(whole.length - 200, 0x55)]));
    },
    image_too_large: () => predict('plain', hugePng()),
  };
}

/** What becomes of tasks in the stream. */
function consumerFailures(failing: FailingSystem) {
  const { system, stream, predict } = failing;
  return {
    inference_failed: () => predict('failing', picture('fails')),
    model_version_gone: () => predict('aged', picture('aged'), { 'x-timeout-ms': '30000' }),
    task_lost: () => fated(failing, 'losing', 1_000, (id) => stream.del(partitionKeys('losing').task(id))),
    task_unreadable: () =>
      fated(failing, 'later', 30_000, async (id) => {
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
      fated(failing, 'deadly', 30_000, async (id) => {
        // Two runs alone ended their process, and so did the consumer that has the task now.
        const keys = partitionKeys('deadly');
        await stream.hset(keys.task(id), 'solos', 2);
        const [entryId = ''] = await deliver(system.stream, 'a consumer that died', 1, keys.tasks('normal'));
        await letGo(stream, keys.tasks('normal'), 'a consumer that died', [entryId]);
        await system.backend(servedBy(simulatedModel({ manifest: { name: 'deadly' } })), { SAMPAN_LEASE_MS: '200' });
      }),
    internal: () =>
      fated(failing, 'broken', 30_000, async (taskId) => {
        const result = encodeResult({ outcome: 'failed', code: 'internal', detail: 'what nobody foresaw' });
        const from = { model: 'broken', lane: 'normal', keepResultMs: 60_000 } as const;
        await leave(stream, from, [{ taskId, reason: 'failed', result }]);
      }),
  };
}

/** What an edge finds around it. */
function edgeFailures(failing: FailingSystem, doomed: TestRedis) {
  const { system, latch, ask, predict } = failing;
  return {
    no_live_consumer: () => predict('idle'),
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
    trace_not_found: () => ask('/v1/traces/unheard-of'),
    traces_unavailable: async () => {
      const { url: cutOffEdge } = await system.edge({
        CACHE_REDIS_URL: 'redis://127.0.0.1:1',
        SAMPAN_TRACE_STORE: 'on',
      });
      return ask('/v1/traces', {}, cutOffEdge);
    },
    edge_stopping: () => stopping(failing),
    deadline_exceeded: async () => {
      latch.hold();
      const late = await predict('latched', picture('late'), { 'x-timeout-ms': '200' });
      latch.release();
      return late;
    },
  };
}

/** Sends one picture to a model that nobody reads, and lets `fate` decide about its task meanwhile. */
async function fated(
  { stream, predict }: FailingSystem,
  model: string,
  timeoutMs: number,
  fate: (taskId: string) => Promise<unknown>,
): Promise<Answer> {
  const asked = predict(model, picture(model), { 'x-timeout-ms': `${timeoutMs}` });
  const [taskInFlight = ''] = await until(
    async () => Object.values(await stream.hgetall(partitionKeys(model).work)),
    (tasks) => tasks.length === 1,
  );
  await fate(taskInFlight);
  return asked;
}

/** Stops an edge that is being sent the first picture of a batch. */
async function stopping({ system, ask }: FailingSystem): Promise<Answer> {
  const edge = await system.edge({ SAMPAN_AUTH: 'on' });
  const key = await keyOf(system.stream, 'stopped');
  let finish: () => void = () => undefined;
  const body = new ReadableStream<Uint8Array>({
    start: (controller) => {
      const line = Buffer.from(linesOf([picture('too late')]));
      controller.enqueue(line.subarray(0, 10));
      finish = () => {
        controller.enqueue(line.subarray(10));
        controller.close();
      };
    },
  });
  const headers = { 'content-type': 'application/x-ndjson', 'x-api-key': key };
  const init = { method: 'POST', body, headers, duplex: 'half' } as const;
  const asked = ask('/v1/models/plain/batch', init, edge.url);
  await until(
    () => system.stream.keys('sampan:{spend:key:*}:under-way'),
    (accounts) => accounts.length > 0,
  );
  const closed = edge.close();
  finish();
  await closed;
  return asked;
}

/** Sends two pictures under one Idempotency-Key. */
async function twiceUnderOneKey({ predict }: FailingSystem): Promise<Answer> {
  const headers = { prefer: 'respond-async', 'idempotency-key': 'twice' };
  assert.equal((await predict('plain', picture('first under a key'), headers)).status, 202);
  return predict('plain', picture('second under a key'), headers);
}

/** Ends a request in the middle of its body: nobody is left to be answered, but the edge counts what it was. */
async function cutOff({ url, metricsUrl }: FailingSystem): Promise<undefined> {
  const predicting = { endpoint: '/v1/models/:model/predict', cache: 'none', status: '400' };
  const counted = async () => {
    const [count] = (await scrape(metricsUrl)).find('api_latency_seconds_count', predicting);
    return count?.value ?? 0;
  };
  const before = await counted();
  const socket = connect(Number(new URL(url).port), '127.0.0.1').resume();
  socket.end('POST /v1/models/plain/predict HTTP/1.1\r\nhost: x\r\ncontent-length: 1000\r\n\r\nabc');
  await once(socket, 'close');
  await until(counted, (count) => count === before + 1);
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
