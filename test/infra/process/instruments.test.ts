import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createBackendMetrics, type ModelLoad } from '../../../backend/metrics.js';
import { createEdgeMetrics } from '../../../edge/metrics.js';
import { startTelemetry, type Telemetry } from '../../../infra/process/telemetry.js';
import { scrape } from '../../exposition.js';

const options = { instance: 'one', host: '127.0.0.1', metricsPort: 0, env: {} };
const edgeSide: Telemetry = await startTelemetry({ ...options, service: 'sampan-edge' });
const backendSide: Telemetry = await startTelemetry({ ...options, service: 'sampan-backend' });
after(() => Promise.all([edgeSide.shutdown(), backendSide.shutdown()]));

const urlOf = ({ metricsUrl }: Telemetry): string => {
  assert.ok(metricsUrl !== undefined);
  return metricsUrl;
};

test("the edge's latency is a histogram in seconds by endpoint, status and cache", async () => {
  const { apiLatency } = createEdgeMetrics(edgeSide.meter);
  const labels = { endpoint: '/v1/models/:model/predict', status: '200', cache: 'miss' };
  apiLatency.record(0.003, labels);
  apiLatency.record(0.2, labels);
  const exposition = await scrape(urlOf(edgeSide));
  assert.equal(exposition.types.get('api_latency_seconds'), 'histogram');
  assert.deepEqual(exposition.find('api_latency_seconds_count'), [
    { name: 'api_latency_seconds_count', labels, value: 2 },
  ]);
  const buckets = exposition.find('api_latency_seconds_bucket', labels);
  assert.deepEqual(
    buckets.filter(({ labels: { le } }) => le === '0.0025' || le === '0.005' || le === '+Inf').map((b) => b.value),
    [0, 1, 2],
  );
  assert.deepEqual(Object.keys(buckets[0]?.labels ?? {}).sort(), ['cache', 'endpoint', 'le', 'status']);
});

test("the edge's counters end in _total, hits and misses apart", async () => {
  const metrics = createEdgeMetrics(edgeSide.meter);
  metrics.cacheLookups.add(1, { model: 'coco', found: 'hit' });
  for (let i = 0; i < 2; i++) metrics.cacheLookups.add(1, { model: 'coco', found: 'miss' });
  metrics.enqueued.add(1, { model: 'coco', how: 'admitted' });
  metrics.tasksLost.add(1, { model: 'coco' });
  const exposition = await scrape(urlOf(edgeSide));
  assert.equal(exposition.find('cache_lookups_total', { found: 'hit' })[0]?.value, 1);
  assert.equal(exposition.find('cache_lookups_total', { found: 'miss' })[0]?.value, 2);
  assert.equal(exposition.find('tasks_enqueued_total', { model: 'coco', how: 'admitted' }).length, 1);
  assert.equal(exposition.find('tasks_lost_total', { model: 'coco' }).length, 1);
});

test("the backend's instruments have the names, types and labels that dashboards rely on", async () => {
  let loads: ModelLoad[] = [];
  const metrics = createBackendMetrics(backendSide.meter, () => loads);
  const model = 'coco';
  metrics.inferences.add(3, { model, model_version: '1', outcome: 'succeeded' });
  metrics.cacheWrites.add(3, { outcome: 'written' });
  metrics.queueSeconds.record(0.004, { model });
  metrics.decodeSeconds.record(0.008, { model });
  metrics.inferSeconds.record(0.02, { model });
  metrics.settleSeconds.record(0.001, { model });
  metrics.batchSize.record(3, { model, closed: 'full' });
  loads = [
    { model, backlog: 7, pending: 3, waiting: 4, liveConsumers: 2 },
    { model: 'nsfw', backlog: 0, pending: 0, waiting: 0, liveConsumers: 1 },
  ];
  const exposition = await scrape(urlOf(backendSide));
  const value = (name: string, labels: Record<string, string>) => {
    const found = exposition.find(name, labels);
    assert.equal(found.length, 1, name);
    return found[0]?.value;
  };
  assert.equal(value('model_inference_count_total', { model, model_version: '1', outcome: 'succeeded' }), 3);
  assert.equal(value('cache_writes_total', { outcome: 'written' }), 3);
  for (const name of ['queue_seconds', 'decode_seconds', 'infer_seconds', 'settle_seconds']) {
    assert.equal(exposition.types.get(name), 'histogram', name);
    assert.equal(value(`${name}_count`, { model }), 1);
  }
  assert.equal(value('batch_size_bucket', { model, closed: 'full', le: '2' }), 0);
  assert.equal(value('batch_size_bucket', { model, closed: 'full', le: '4' }), 1);
  assert.equal(value('tasks_backlog', { model }), 7);
  assert.equal(value('tasks_pending', { model }), 3);
  assert.equal(value('live_consumers', { model: 'nsfw' }), 1);
  assert.equal(exposition.types.get('tasks_backlog'), 'gauge');
  assert.ok((value('resident_memory_bytes', {}) ?? 0) > 10e6);

  loads = loads.map((load) => ({ ...load, backlog: load.backlog + 1 }));
  const later = await scrape(urlOf(backendSide));
  assert.deepEqual(
    later.find('tasks_backlog').map((sample) => [sample.labels['model'], sample.value]),
    [
      [model, 8],
      ['nsfw', 1],
    ],
  );
});

test('every series is of our own table or tells whose process it is, and carries no labels of the SDK', async () => {
  const exposition = await scrape(urlOf(backendSide));
  const own = exposition.samples.filter((sample) => sample.name !== 'target_info');
  assert.ok(own.length > 0);
  for (const { name, labels } of own) assert.ok(!Object.keys(labels).some((label) => label.startsWith('otel_')), name);
  const [info] = exposition.find('target_info');
  assert.equal(info?.labels['service_name'], 'sampan-backend');
  assert.equal(info.labels['service_instance_id'], 'one');
});
