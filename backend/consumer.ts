import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import type { Tracer } from '@opentelemetry/api';
import { runDevice } from './device-loop.js';
import { createHolding, type Holding } from './holding.js';
import { takeIn } from './intake.js';
import { createLeases, letLeasesGo, type Leases } from './lease.js';
import type { BackendMetrics } from './metrics.js';
import type { Model } from './model/model.js';
import type { RedisClock } from './redis-clock.js';
import { startRenewing } from './renewing.js';
import { reportOnceASecond, type Retrying } from './retry.js';
import type { SettleDeps } from './settle.js';
import { createSignal, type Signal } from './signal.js';

export interface ConsumerDeps {
  readonly consumer: string;
  readonly models: readonly Model[];
  /** Resolves with the reason when the device is lost for good. */
  readonly deviceLost: Promise<Error>;
  /** Commands of the stream role. */
  readonly client: Redis;
  /** A connection for each model's blocking read. */
  readonly connectBlocking: (model: string) => Promise<Redis>;
  readonly settle: SettleDeps;
  /** Most encoded bytes that are fetched at a time and not yet decoded. */
  readonly batchBytes: number;
  /** Milliseconds that a delivery may stay silent before others may claim it. */
  readonly leaseMs: number;
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
  /** What was delivered and has not left. */
  readonly leases: Leases;
  /** Since when leases have been renewed without a break; milliseconds, monotonic. */
  steadySince: number;
  /** Why this consumer cannot go on, once that is so. */
  failure: unknown;
  /** Why nothing is read at present, where that is so. */
  paused: 'memory' | undefined;
  /** Tasks whose end Redis did not take, or that were given up at the end of a drain. */
  unsettled: number;
  /** Milliseconds of Redis's clock. */
  lastReadAt: number;
  readonly retrying: Retrying;
}

export interface Consumer {
  readonly state: ConsumerState;
  /** Resolves with the reason if reading or running ends for a fault of our own. */
  readonly failed: Promise<unknown>;
  /** Whether tasks were given up unsettled; they stay pending. */
  leftPending(): boolean;
  /**
   * Stops reading and finishes what is held; resolves when nothing is. Past `giveUpMs` no run is begun, Redis is waited
   * for no longer, and a run that goes on has the model's run limit to end.
   */
  drain(giveUpMs: number): Promise<void>;
}

/** The state of a consumer that has not begun; `giveUp` is aborted when Redis and the device are waited for no longer. */
export function createConsumerState(
  deps: Pick<ConsumerDeps, 'models' | 'redisClock' | 'log' | 'random' | 'now'>,
  giveUp: AbortSignal,
): ConsumerState {
  return {
    holdings: new Map(deps.models.map((model) => [model.manifest.name, createHolding(model)])),
    work: createSignal(),
    intakeEnded: false,
    leases: createLeases(),
    steadySince: deps.now(),
    failure: undefined,
    paused: undefined,
    unsettled: 0,
    lastReadAt: deps.redisClock.now(),
    retrying: { report: reportOnceASecond(deps.log), random: deps.random, signal: giveUp },
  };
}

/** Starts reading, batching, inferring, renewing and settling for every model on one device. */
export function startConsumer(deps: ConsumerDeps, state: ConsumerState, giveUp: AbortController): Consumer {
  const reading = new AbortController();
  const stopReading = () => {
    reading.abort();
    for (const holding of state.holdings.values()) holding.roomChanged.notify();
  };
  const stopRenewing = startRenewing(deps, state);
  const intakes = [...state.holdings.values()].map((holding) => takeIn(deps, state, holding, reading.signal));
  const intake = Promise.all(intakes).finally(() => {
    state.intakeEnded = true;
    state.work.notify();
  });
  const lost = deps.deviceLost.then((error) => {
    throw error;
  });
  const done = Promise.race([Promise.all([intake, runDevice(deps, state)]), lost]).then(() => allSettled(state));
  const letAllGo = async () => {
    stopRenewing();
    // Where Redis does not answer, the leases run out by themselves.
    const going = letLeasesGo(deps, state.leases.all()).catch(() => undefined);
    await Promise.race([going, sleep(letGoLimitMs, undefined, { ref: false })]);
  };
  return {
    state,
    failed: done.then(
      () => new Promise(() => undefined),
      async (error: unknown) => {
        state.failure = error;
        stopReading();
        await letAllGo();
        return error;
      },
    ),
    leftPending: () => state.leases.size > 0 || state.unsettled > 0,
    drain: async (giveUpMs) => {
      const bound = setTimeout(() => {
        giveUp.abort();
        state.work.notify();
      }, giveUpMs);
      stopReading();
      // A run cannot be interrupted; one that has not begun when the bound is over does not begin any more.
      await Promise.race([
        done.catch(() => undefined),
        sleep(giveUpMs + longestRunMs(deps.models), undefined, { ref: false }),
      ]);
      clearTimeout(bound);
      await letAllGo();
    },
  };
}

/** Milliseconds that the end of a process waits for Redis to take its leases back. */
const letGoLimitMs = 1000;

async function allSettled({ holdings }: ConsumerState): Promise<void> {
  for (const holding of holdings.values()) await holding.settling;
}

function longestRunMs(models: readonly Model[]): number {
  return Math.max(0, ...models.map((model) => model.manifest.runLimitMs));
}
