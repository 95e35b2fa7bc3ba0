import { createNoopMeter } from '@opentelemetry/api';
import type { Redis } from 'ioredis';
import { pino } from 'pino';
import type { ConsumerDeps } from '../../backend/consumer.js';
import type { Delivery, Ready } from '../../backend/delivery.js';
import { createBackendMetrics } from '../../backend/metrics.js';
import type { Lease } from '../../backend/lease.js';
import type { Model } from '../../backend/model/model.js';
import { createRedisClock } from '../../backend/redis-clock.js';
import { unsampledTask } from '../../backend/telemetry.js';
import { carryingTracer } from '../../infra/process/carrying-tracer.js';
import { newTaskId } from '../../contracts/task.js';
import { specOf, toyStream } from '../tasks.js';

export const silentMetrics = createBackendMetrics(createNoopMeter(), () => []);

/** What a consumer needs, on a real Redis; nobody listens to its log, its traces and its counts. */
export function depsOn(client: Redis, models: readonly Model[], changes: Partial<ConsumerDeps> = {}): ConsumerDeps {
  const now = () => performance.now();
  return {
    ...{
      consumer: 'one',
      models,
      client,
      now,
      batchBytes: 1e6,
      leaseMs: 5000,
      deviceLost: new Promise(() => undefined),
      random: () => 0.5,
      tracer: carryingTracer,
    },
    connectBlocking: () => Promise.resolve(client.duplicate()),
    settle: {
      client,
      cache: undefined,
      resultSeconds: 60,
      deadSeconds: 60,
      cacheSeconds: 60,
      metrics: silentMetrics,
      random: () => 0.5,
      redisNow: Date.now,
    },
    redisClock: createRedisClock(client, () => performance.timeOrigin + performance.now()),
    log: pino({ level: 'silent' }),
    metrics: silentMetrics,
    ...changes,
  };
}

/** A lease that began just now. */
export function leaseOf(entryId: string, stream = toyStream): Lease {
  return { stream, entryId, renewedAt: performance.now(), renewUntil: Infinity, lost: false };
}

export function deliveryOf(model: Model, changes: Partial<Delivery> = {}): Delivery {
  const { entryId = '1-1', stream = toyStream } = changes;
  return {
    ...{ stream, lane: 'normal', entryId, lease: leaseOf(entryId, stream), claimed: false },
    ...{ model, taskId: newTaskId('toy') },
    ...{ bytes: 8, traceparent: '', queueMs: 1.234567, ...changes },
  };
}

/** A task whose pixels are the given text. */
export function readyTask(model: Model, text: string, changes: Partial<Delivery> = {}): Ready {
  return {
    ...{ delivery: deliveryOf(model, changes), spec: specOf({ image: Buffer.from(text) }), trace: unsampledTask },
    ...{ deadline: Infinity, decodeMs: 2.345678, readyAt: 0 },
    decoded: { pixels: Buffer.from(text), width: 4, height: 2 },
  };
}
