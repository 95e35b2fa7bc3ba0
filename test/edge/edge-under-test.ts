import { after } from 'node:test';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { Server } from 'node:http';
import { createNoopMeter } from '@opentelemetry/api';
import { Redis } from 'ioredis';
import { publishModels } from '../../contracts/catalogue.js';
import type { ModelManifest } from '../../contracts/model.js';
import { register } from '../../contracts/register.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import type { AccessRecord } from '../../edge/access-log.js';
import { createApp } from '../../edge/app.js';
import { noLimiter } from '../../edge/access/limiter.js';
import { anonymous } from '../../edge/access/principal.js';
import { discardNodeBody, nodeBindings, nodeBodyPieces, readNodeBody } from '../../edge/body/read-node-body.js';
import { noCache } from '../../edge/cache.js';
import { loadConfig } from '../../edge/config.js';
import type { Cross, Order } from '../../edge/crossing.js';
import type { EdgeDeps } from '../../edge/deps.js';
import { createFollowers } from '../../edge/followers.js';
import { noKeptTraces } from '../../edge/kept-traces.js';
import { createEdgeMetrics } from '../../edge/metrics.js';
import { startModelView } from '../../edge/models.js';
import { createNodeServer } from '../../edge/node-http.js';
import { createProducer } from '../../edge/producer.js';
import { createSubmissions, type SubmissionsDeps } from '../../edge/submissions.js';
import { noUsage } from '../../edge/usage.js';
import { createWaiter } from '../../edge/waiter.js';
import { carryingTracer } from '../../infra/process/carrying-tracer.js';
import { listen } from '../../infra/process/listen.js';

/** A model of the kind classify that nobody needs to load. */
export const toyManifest: ModelManifest = {
  name: 'toy',
  version: '1',
  task: 'classify',
  description: 'says the same about everything',
  sha256: '0'.repeat(64),
  input: { name: 'image', width: 8, height: 8, fit: 'fill', kernel: 'linear', colour: 'srgb', background: '#000000' },
  outputs: [{ name: 'scores', shape: [2] }],
  labels: ['plain', 'fancy'],
  thresholds: { top: 2, minScore: 0 },
  batch: {},
  runLimitMs: 1000,
  licence: 'none',
  origin: 'this test',
};

export const toyPredictions = '[{"label":"plain","score":1}]';

/** Puts models into a stream's catalogue, and one live consumer that serves them into its register. */
export async function serveModels(client: Redis, manifests: readonly ModelManifest[]): Promise<void> {
  await publishModels(client, manifests);
  const models = manifests.map(({ name, version }) => ({ model: name, version, tasksPerSecond: 10 }));
  await register(
    client,
    {
      ...{ v: 1, consumer: 'test-consumer', device: { kind: 'simulated', name: 'none' }, models, state: 'ready' },
      ...{ memory: { residentBytes: 1 }, startedAt: 0, lastReadAt: 0 },
    },
    Date.now(),
  );
  // Tests take longer than a registration lives.
  await client.persist('sampan:consumer:test-consumer');
}

/** What stands for the way across the stream: it keeps the orders and answers each at once. */
export function recordingCross(): Cross & { readonly orders: Order[] } {
  const orders: Order[] = [];
  const cross = (order: Order) => {
    orders.push(order);
    const timing = { queueMs: 1, decodeMs: 2, batchWaitMs: 0, inferMs: 3, batchSize: 1 };
    const predictions = Buffer.from(toyPredictions);
    const result = { outcome: 'succeeded', version: order.spec.version, timing, predictions } as const;
    return Promise.resolve({ id: `toy.0.${'0'.repeat(36)}`, cache: 'miss', result } as const);
  };
  return Object.assign(cross, { orders });
}

export interface EdgeUnderTest {
  readonly url: string;
  readonly server: Server;
  readonly deps: EdgeDeps;
  readonly records: readonly AccessRecord[];
  readonly reported: readonly unknown[];
}

export const testConfig = (env: Record<string, string> = {}) =>
  loadConfig({ REDIS_URL: 'redis://127.0.0.1:1', SAMPAN_MAX_BODY_BYTES: '262144', ...env });

/** The edge's app on a real Node server and a real register; whatever a test gives takes the place of a part. */
export async function edgeUnderTest(streamUrl: string, given: Partial<EdgeDeps> = {}): Promise<EdgeUnderTest> {
  const client = defineScripts(new Redis(streamUrl));
  // Some tests take the server away; the view of the models copes.
  client.on('error', () => undefined);
  const clock = { now: () => performance.now(), sinceEpoch: Date.now };
  const models = await startModelView({ client, clock });
  const metrics = createEdgeMetrics(createNoopMeter());
  const waiter = createWaiter({ client, now: clock.now });
  const stopping = new AbortController().signal;
  const records: AccessRecord[] = [];
  const reported: unknown[] = [];
  const deps: EdgeDeps = {
    ...{ clock, models, cache: noCache, cross: recordingCross(), config: testConfig() },
    ...{ authenticate: anonymous, limiter: noLimiter, usage: noUsage },
    ...{ readBody: readNodeBody, bodyPieces: nodeBodyPieces, discardBody: discardNodeBody },
    clientAddress: (c) => nodeBindings(c).incoming.socket.remoteAddress ?? '',
    tracer: carryingTracer,
    submissions: realSubmissions({ client, waiter, metrics, models, clock, stopping }),
    ...{ followers: createFollowers(1000), stopping, traces: noKeptTraces },
    metrics,
    accessLog: (record) => records.push(record),
    reportError: (error) => reported.push(error),
    ready: () => Promise.resolve({ ready: true, reasons: [] }),
    ...given,
  };
  const server = createNodeServer(createApp(deps), 120_000);
  const url = await listen(server, '127.0.0.1', 0, 'edge');
  after(async () => {
    models.stop();
    waiter.close();
    client.disconnect();
    server.close();
    server.closeAllConnections();
    await once(server, 'close');
  });
  return { url, server, deps, records, reported };
}

type Wanted = 'client' | 'waiter' | 'metrics' | 'clock' | 'stopping';

function realSubmissions(parts: Pick<SubmissionsDeps, Wanted> & Pick<EdgeDeps, 'models'>) {
  const { client, models } = parts;
  const limits = { maxTasks: 1000, maxBytes: 2 ** 30 };
  const { tasksPerSecond } = models;
  const share = { shareMs: 2000, timeoutMs: 10_000 };
  const edge = 'edge-under-test';
  const producer = createProducer({ client, edge, limits, share, tasksPerSecond, nextTurn: setImmediate });
  return createSubmissions({ ...parts, producer, limits, edge, keepMs: 60_000 });
}

/** Waits for a condition, looking often, within a bound that only a broken promise reaches. */
export async function eventually(condition: () => boolean, what: string): Promise<void> {
  for (const limit = Date.now() + 10_000; Date.now() < limit;) {
    if (condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  throw new Error(`never happened: ${what}`);
}

/** A body as fetch wants it. */
export function bodyOf(bytes: Buffer): Uint8Array<ArrayBuffer> {
  return new Uint8Array(bytes);
}
