/**
 * Our side of the crossing without HTTP: what the predict route does once it holds the image and its digests. (Hashing
 * is not part of it: the digests are made up. It is measured with uploads, beside a route that hashes too.)
 */
import { pino } from 'pino';
import { replyChannel } from '../../../contracts/keys.js';
import { canonicalParams, parseParams } from '../../../contracts/params.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { workKey, type TaskSpec } from '../../../contracts/task.js';
import { simulatedManifest } from '../../../backend/model/simulated-model.js';
import { createCache } from '../../../edge/cache.js';
import { createCrossing } from '../../../edge/crossing.js';
import { createEdgeMetrics } from '../../../edge/metrics.js';
import { startRequestTrace } from '../../../edge/telemetry.js';
import { createProducer } from '../../../edge/producer.js';
import { createWaiter } from '../../../edge/waiter.js';
import { growHeapFreely } from '../../../infra/process/heap.js';
import {
  connectCache,
  connectCommands,
  connectSubscriber,
  untilReady,
} from '../../../infra/process/redis-connection.js';
import { startTelemetry } from '../../../infra/process/telemetry.js';
import { callLoad } from './caller-load.js';
import { obey } from './messages.js';

growHeapFreely();
const [url = '', cacheUrl = ''] = process.argv.slice(2);
const edge = 'bench';
const logger = pino({ level: 'warn' });
const manifest = simulatedManifest({ name: 'bench' });
const clock = { now: () => performance.now() };

const telemetry = await startTelemetry({
  ...{ service: 'bench-edge', instance: edge, host: '127.0.0.1', metricsPort: 0, env: process.env },
});
const metrics = createEdgeMetrics(telemetry.meter);
const client = defineScripts(connectCommands(url, { name: 'edge-commands', logger }));
const cacheClient = cacheUrl ? connectCache(cacheUrl, { name: 'edge-cache', logger }) : undefined;
const waiter = createWaiter({ client, now: clock.now });
const subscriber = connectSubscriber(url, {
  ...{ name: 'edge-replies', logger, channels: [replyChannel(edge)] },
  onSubscribed: () => waiter.checkAll(),
});
subscriber.on('smessageBuffer', (_channel: Buffer, message: Buffer) => waiter.receive(message));
await Promise.all([client, subscriber, ...(cacheClient ? [cacheClient] : [])].map((one) => untilReady(one, 10_000)));
const cache =
  cacheClient && createCache({ reader: cacheClient, timeoutMs: 1000, nextTurn: setImmediate, clock, metrics });
const limits = { maxTasks: 10_000, maxBytes: 1024 ** 3 };
const share = { shareMs: 2000, timeoutMs: 10_000 };
const producer = createProducer({ client, edge, limits, share, tasksPerSecond: () => 0, nextTurn: setImmediate });
const cross = createCrossing({ client, producer, waiter, limits, metrics });

// Parameters are read with the body, before a request is ready to cross.
const { name: model, version } = manifest;
const params = canonicalParams(parseParams(manifest, {}));
const scope = 'shared';

let made = 0;
function madeUpDigests() {
  const number = (made++).toString(16);
  return { md5: number.padStart(32, '0'), sha256: number.padStart(64, '0') };
}

const task = async (image: Buffer): Promise<void> => {
  const trace = startRequestTrace(telemetry.tracer, undefined, 'POST /v1/models/:model/predict', {});
  const { md5, sha256 } = madeUpDigests();
  const work = workKey({ scope, model, version, md5 }, params);
  if (cache) {
    const lookup = trace.child('cache lookup');
    await cache.find(work, sha256, model);
    trace.endChild(lookup);
  }
  // Literals, not spreads: those of the test would count as ours.
  // prettier-ignore
  const spec: TaskSpec = { v: 1, model, version, md5, sha256, params: {}, scope, tenant: 'anonymous', tier: 'free', lane: 'normal', bytes: image.length };
  const { result } = await cross({ spec, work, image, timeLeftMs: 10_000, trace });
  trace.span.end();
  if (result.outcome !== 'succeeded') throw new Error(`a task failed: ${result.code} ${result.detail}`);
};

obey({
  load: (command) => callLoad(command, task),
  stop: async () => {
    waiter.close();
    for (const one of [client, subscriber, cacheClient]) one?.disconnect();
    await telemetry.shutdown();
  },
});
