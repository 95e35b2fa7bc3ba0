import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Tracer } from '@opentelemetry/api';
import { runDevice } from './device-loop.js';
import { createHolding, type Holding } from './holding.js';
import { takeIn } from './intake.js';
import type { BackendMetrics } from './metrics.js';
import type { Model } from './model/model.js';
import type { RedisClock } from './redis-clock.js';
import type { Retrying } from './retry.js';
import type { SettleDeps } from './settle.js';
import { createSignal, type Signal } from './signal.js';

export interface ConsumerDeps {
  readonly consumer: string;
  readonly models: readonly Model[];
  /** Commands of the stream role. */
  readonly client: Redis;
  /** A connection for each model's blocking read. */
  readonly connectBlocking: (model: string) => Promise<Redis>;
  readonly settle: SettleDeps;
  /** Most encoded bytes that are fetched at a time and not yet decoded. */
  readonly batchBytes: number;
  readonly redisClock: RedisClock;
  /** Milliseconds, monotonic. */
  readonly now: () => number;
  readonly random: () => number;
  readonly log: Logger;
  readonly tracer: Tracer;
  readonly metrics: BackendMetrics;
}

/** What the parts of one consumer share. */
export interface ConsumerState {
  readonly holdings: ReadonlyMap<string, Holding>;
  /** Notified when a task became ready for the device, or when reading has ended. */
  readonly work: Signal;
  /** True once nothing more will become ready. */
  intakeEnded: boolean;
  /** Tasks that were delivered and have not left. */
  held: number;
  /** Tasks whose end Redis did not take in time. */
  unsettled: number;
  /** Milliseconds of Redis's clock. */
  lastReadAt: number;
  /** Tasks that left since the start, per model. */
  readonly settledCount: Map<string, number>;
  readonly retrying: Retrying;
}

export interface Consumer {
  readonly state: ConsumerState;
  /** Resolves with the reason if reading or running ends for a fault of our own. */
  readonly failed: Promise<unknown>;
  /** Whether tasks were given up unsettled; they stay pending. */
  leftPending(): boolean;
  /** Stops reading and finishes what is held; resolves when nothing is. Past `giveUpMs` Redis is not waited for. */
  drain(giveUpMs: number): Promise<void>;
}

/** Starts reading, batching, inferring and settling for every model on one device. */
export function startConsumer(deps: ConsumerDeps): Consumer {
  const reading = new AbortController();
  const giving = new AbortController();
  const state: ConsumerState = {
    holdings: new Map(deps.models.map((model) => [model.manifest.name, createHolding(model)])),
    work: createSignal(),
    intakeEnded: false,
    held: 0,
    unsettled: 0,
    lastReadAt: deps.redisClock.now(),
    settledCount: new Map(),
    retrying: { log: deps.log, random: deps.random, signal: giving.signal },
  };
  const intakes = [...state.holdings.values()].map((holding) => takeIn(deps, state, holding, reading.signal));
  const intake = Promise.all(intakes).finally(() => {
    state.intakeEnded = true;
    state.work.notify();
  });
  const device = runDevice(deps, state);
  return {
    state,
    failed: Promise.all([intake, device]).then(
      () => new Promise(() => undefined),
      (error: unknown) => error,
    ),
    leftPending: () => state.unsettled > 0,
    drain: async (giveUpMs) => {
      const bound = setTimeout(() => giving.abort(), giveUpMs);
      reading.abort();
      for (const holding of state.holdings.values()) holding.roomChanged.notify();
      await Promise.all([intake, device]);
      clearTimeout(bound);
    },
  };
}
