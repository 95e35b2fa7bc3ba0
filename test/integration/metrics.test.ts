import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createLatch } from '../../backend/model/latch.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { partitionKeys } from '../../contracts/keys.js';
import { scrape, type Exposition } from '../exposition.js';
import { picture } from '../pictures.js';
import { predict, servedBy, testSystem, until } from './system.js';

const system = await testSystem();
const latch = createLatch();
const model = 'measured';
const endpoint = '/v1/models/:model/predict';
const served = simulatedModel({ latch, faults: { failRunOn: '#fails#' }, manifest: { name: model, version: '7' } });
let url = '';
let edgeMetrics = '';
let backendMetrics = '';

before(async () => {
  const backend = await system.backend(servedBy(served));
  const edge = await system.edge();
  assert.ok(edge.metricsUrl !== undefined && backend.metricsUrl !== undefined);
  [url, edgeMetrics, backendMetrics] = [edge.url, edge.metricsUrl, backend.metricsUrl];
});

/** The series of a metric, as `labels: value`, sorted. */
function series(exposition: Exposition, name: string): string[] {
  return exposition
    .find(name)
    .map(
      ({ labels, value }) =>
        `${Object.entries(labels)
          .filter(([label]) => label !== 'le')
          .map((pair) => pair.join('='))
          .sort()
          .join(' ')}: ${value}`,
    )
    .sort();
}

const seriesCount = (exposition: Exposition) => exposition.samples.length;

test('before the first request nothing is counted, and the consumer is seen', async () => {
  const backend = await until(
    () => scrape(backendMetrics),
    (exposition) => exposition.find('live_consumers', { model }).length === 1,
  );
  assert.deepEqual(series(backend, 'live_consumers'), [`model=${model}: 1`]);
  assert.deepEqual(series(backend, 'tasks_backlog'), [`model=${model}: 0`]);
  assert.deepEqual(series(backend, 'tasks_pending'), [`model=${model}: 0`]);
  assert.deepEqual(series(backend, 'model_inference_count_total'), []);
});

test('a miss, a hit, a join and a failure are counted where they happened, and nothing else is', async () => {
  const cached = picture('cached');
  assert.equal((await predict(url, model, cached)).cache, 'miss');
  await until(
    () => system.cache.dbsize(),
    (size) => size === 1,
  );
  assert.equal((await predict(url, model, cached)).cache, 'hit');

  latch.hold();
  const first = predict(url, model, picture('shared'));
  await latch.arrived();
  const second = predict(url, model, picture('shared'));
  const [taskId = ''] = Object.values(await system.stream.hgetall(partitionKeys(model).work));
  await until(
    () => system.stream.hget(partitionKeys(model).task(taskId), 'waiters'),
    (waiters) => waiters === '2',
  );
  await backlogIs(1, 1);
  latch.release();
  assert.deepEqual([(await first).cache, (await second).cache], ['miss', 'joined']);
  assert.equal((await predict(url, model, picture('fails'))).status, 500);
  await backlogIs(0, 0);

  const edge = await scrape(edgeMetrics);
  const labels = (cache: string, status: number) => `cache=${cache} endpoint=${endpoint} status=${status}`;
  assert.deepEqual(series(edge, 'api_latency_seconds_count'), [
    `${labels('hit', 200)}: 1`,
    `${labels('joined', 200)}: 1`,
    `${labels('miss', 200)}: 2`,
    `${labels('miss', 500)}: 1`,
  ]);
  assert.deepEqual(series(edge, 'cache_lookups_total'), [
    `found=hit model=${model}: 1`,
    `found=miss model=${model}: 4`,
  ]);
  assert.deepEqual(series(edge, 'tasks_enqueued_total'), [
    `how=admitted model=${model}: 3`,
    `how=joined model=${model}: 1`,
  ]);
  assert.deepEqual(series(edge, 'tasks_lost_total'), []);

  const backend = await scrape(backendMetrics);
  const counted = (outcome: string, count: number) => `model=${model} model_version=7 outcome=${outcome}: ${count}`;
  assert.deepEqual(series(backend, 'model_inference_count_total'), [counted('failed', 1), counted('succeeded', 2)]);
  assert.deepEqual(series(backend, 'cache_writes_total'), ['outcome=written: 2']);
  for (const name of ['queue_seconds', 'decode_seconds', 'infer_seconds', 'settle_seconds']) {
    assert.deepEqual(series(backend, `${name}_count`), [`model=${model}: 3`], name);
  }
  assert.deepEqual(series(backend, 'batch_size_count'), [`closed=device_free model=${model}: 3`]);
  assert.deepEqual(series(backend, 'batch_size_sum'), [`closed=device_free model=${model}: 3`]);
});

/** What the gauges say, as soon as the next heartbeat has told them. */
async function backlogIs(backlog: number, pending: number): Promise<void> {
  await until(
    async () => {
      const exposition = await scrape(backendMetrics);
      return [...series(exposition, 'tasks_backlog'), ...series(exposition, 'tasks_pending')];
    },
    (found) => JSON.stringify(found) === JSON.stringify([`model=${model}: ${backlog}`, `model=${model}: ${pending}`]),
  );
}

test('a full batch is counted as full, with its size', async () => {
  latch.hold();
  const first = predict(url, model, picture('in front'));
  await latch.arrived();
  const decodedBefore = served.journal.decoded;
  const asked = Array.from({ length: 40 }, (_, i) => predict(url, model, picture(`full ${i}`)));
  await until(
    () => served.journal.decoded - decodedBefore,
    (decoded) => decoded >= 32,
  );
  latch.release();
  for (const { status } of await Promise.all([first, ...asked])) assert.equal(status, 200);
  const backend = await scrape(backendMetrics);
  assert.deepEqual(
    backend
      .find('batch_size_bucket', { closed: 'full' })
      .filter(({ value }) => value > 0)
      .map(({ labels }) => labels['le']),
    ['32', '64', '128', '256', '512', '1024', '+Inf'],
  );
});

test('times and sizes are what they say: seconds in histograms, plain counters, gauges', async () => {
  const [edge, backend] = await Promise.all([scrape(edgeMetrics), scrape(backendMetrics)]);
  const types = new Map([...edge.types, ...backend.types]);
  const expected: Record<string, string> = {
    ...{ api_latency_seconds: 'histogram', cache_lookups_total: 'counter', tasks_enqueued_total: 'counter' },
    ...{ model_inference_count_total: 'counter', cache_writes_total: 'counter', queue_seconds: 'histogram' },
    ...{
      decode_seconds: 'histogram',
      infer_seconds: 'histogram',
      settle_seconds: 'histogram',
      batch_size: 'histogram',
    },
    ...{ tasks_backlog: 'gauge', tasks_pending: 'gauge', live_consumers: 'gauge', resident_memory_bytes: 'gauge' },
  };
  for (const [name, type] of Object.entries(expected)) assert.equal(types.get(name), type, name);
  const resident = backend.find('resident_memory_bytes')[0]?.value ?? 0;
  assert.ok(resident > 1e7 && resident < 1e11, `${resident} bytes`);
});

test('a thousand unknown models, paths, digests and parameters add no series but one per endpoint and status', async () => {
  const visit = async (number: number) => {
    const post = { method: 'POST', body: picture(number) };
    for (const [path, init] of [
      [`/v1/models/unknown-${number}/predict`, post],
      [`/v1/models/unknown-${number}`, {}],
      [`/no/such/path/${number}`, {}],
      [`/v1/models/${model}/results/${String(number).padStart(32, '0')}?sha256=${'0'.repeat(64)}`, {}],
      [`/v1/models/${model}/predict?unknown-${number}=1`, post],
    ] as const) {
      const answer = await fetch(`${url}${path}`, init);
      await answer.arrayBuffer();
      assert.ok([400, 404].includes(answer.status), `${path}: ${answer.status}`);
    }
  };
  await visit(0);
  const before = await Promise.all([scrape(edgeMetrics), scrape(backendMetrics)]);
  let next = 1;
  const visitor = async () => {
    for (let number = next++; number <= 1000; number = next++) await visit(number);
  };
  await Promise.all(Array.from({ length: 100 }, visitor));
  const after = await Promise.all([scrape(edgeMetrics), scrape(backendMetrics)]);
  assert.deepEqual(after.map(seriesCount), before.map(seriesCount));
  const unknown = after[0].find('api_latency_seconds_count', { status: '404' });
  assert.deepEqual(
    unknown.map(({ value }) => value),
    [1001, 1001, 1001, 1001],
  );
});
