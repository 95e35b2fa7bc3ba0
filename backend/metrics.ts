import type { Attributes, Meter } from '@opentelemetry/api';
import type { MemoryLevel } from './memory/memory-gate.js';

/** What one model's gauges show when they are asked; kept up to date elsewhere. */
export interface ModelLoad {
  readonly model: string;
  /** Tasks in its streams: waiting and pending. */
  readonly backlog: number;
  /** Delivered to some consumer and not yet settled. */
  readonly pending: number;
  /** In the streams and not delivered yet. */
  readonly waiting: number;
  /** Consumers in the register that serve it. */
  readonly liveConsumers: number;
}

const fastSeconds = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
const queueSeconds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60];
const batchSizes = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024];

/**
 * Every instrument of the backend in one table. Units stand in the names; counters get `_total` from the exporter.
 * @param loads asked at every scrape, so it must be cheap; the SDK repeats the last value of a model that is left out,
 * so a model once told stays in the list
 * @param memory the same of the memory that is watched
 */
export function createBackendMetrics(
  meter: Meter,
  loads: () => Iterable<ModelLoad>,
  memory: () => MemoryLevel = () => ({ state: 'unknown', reason: 'nothing is watched' }),
) {
  observe(meter, loads);
  observeMemory(meter, memory);
  const histogram = (name: string, description: string, explicitBucketBoundaries: number[]) =>
    meter.createHistogram(name, { description, advice: { explicitBucketBoundaries } });
  return {
    /** model, model_version, outcome (succeeded | failed | expired | …, why the task left) */
    inferences: meter.createCounter('model_inference_count', { description: 'Tasks that left, by their outcome.' }),
    /** outcome (written | failed) */
    cacheWrites: meter.createCounter('cache_writes', { description: 'Answers written to the cache.' }),
    /** model */
    claimed: meter.createCounter('tasks_claimed', { description: 'Tasks taken over from consumers that fell silent.' }),
    /** model */
    dropped: meter.createCounter('tasks_dropped', {
      description: 'Tasks left to other consumers before they were run.',
    }),
    /** model */
    dead: meter.createCounter('tasks_dead', { description: 'Tasks given up, with a dead letter.' }),
    /** model, fault (input | model | device_memory | device | redis) */
    failedRuns: meter.createCounter('failed_runs', { description: 'Runs that failed, by whose fault it was.' }),
    /** model */
    queueSeconds: histogram('queue_seconds', 'Time from enqueueing a task to its delivery.', queueSeconds),
    /** model */
    decodeSeconds: histogram('decode_seconds', 'Time to decode and resize one image.', fastSeconds),
    /** model */
    inferSeconds: histogram('infer_seconds', 'Time of one session run, of a whole batch.', fastSeconds),
    /** model */
    settleSeconds: histogram('settle_seconds', 'Time to settle the outcomes of one batch.', fastSeconds),
    /** model, closed (why the batch was closed: full | device_free | max_wait | …) */
    batchSize: histogram('batch_size', 'Tasks in a batch.', batchSizes),
  };
}

export type BackendMetrics = ReturnType<typeof createBackendMetrics>;

function observe(meter: Meter, loads: () => Iterable<ModelLoad>): void {
  const gauge = (name: string, description: string, valueOf: (load: ModelLoad) => number) =>
    meter.createObservableGauge(name, { description }).addCallback((result) => {
      for (const load of loads()) result.observe(valueOf(load), { model: load.model } satisfies Attributes);
    });
  gauge('tasks_backlog', 'Tasks in the streams of a model: waiting and pending.', (load) => load.backlog);
  gauge('tasks_waiting', 'Tasks that no consumer has yet; the one to scale consumers by.', (load) => load.waiting);
  gauge('tasks_pending', 'Tasks delivered to a consumer and not yet settled.', (load) => load.pending);
  gauge('live_consumers', 'Consumers in the register that serve a model.', (load) => load.liveConsumers);
  meter
    .createObservableGauge('resident_memory_bytes', { description: 'Memory of this process that is resident.' })
    .addCallback((result) => result.observe(process.memoryUsage.rss()));
}

/** What is unknown is not told, rather than told as 0. */
function observeMemory(meter: Meter, memory: () => MemoryLevel): void {
  const gauge = (name: string, description: string, field: 'usedBytes' | 'limitBytes') =>
    meter.createObservableGauge(name, { description }).addCallback((result) => {
      const level = memory();
      if (level.state !== 'unknown') result.observe(level[field]);
    });
  gauge('watched_memory_used_bytes', "Memory that is taken: the card's, or this process's own.", 'usedBytes');
  gauge('watched_memory_limit_bytes', 'Memory that there is, of the same kind.', 'limitBytes');
  meter
    .createObservableGauge('reading_paused', { description: 'Whether nothing is read for want of memory, 0 or 1.' })
    .addCallback((result) => result.observe(['paused', 'stuck'].includes(memory().state) ? 1 : 0));
}
