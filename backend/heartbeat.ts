import type { Redis } from 'ioredis';
import { keepPublished } from '../contracts/catalogue.js';
import { consumerGroup, partitionKeys } from '../contracts/keys.js';
import type { DeviceKind } from '../contracts/model.js';
import { heartbeatMs, liveConsumers, register, unregister, type Registration } from '../contracts/register.js';
import { createCapacity, type Capacity } from './capacity.js';
import type { ConsumerState } from './consumer.js';
import type { WatchedMemory } from './memory/memory-watch.js';
import type { ModelLoad } from './metrics.js';
import type { Model } from './model/model.js';
import type { RedisClock } from './redis-clock.js';
import { residentBytes } from './resident-memory.js';

/** What the gauges show; every beat renews it. */
export interface Gauges {
  loads: readonly ModelLoad[];
  /** Undefined until memory is watched. */
  memory?: WatchedMemory | undefined;
}

export interface HeartbeatDeps {
  readonly gauges: Gauges;
  readonly client: Redis;
  readonly consumer: string;
  readonly device: { readonly kind: DeviceKind; readonly name: string };
  readonly models: readonly Model[];
  /** Tasks per second that the device did of each model when it was warmed up, where that is known. */
  readonly rated: ReadonlyMap<string, number>;
  readonly state: ConsumerState;
  readonly redisClock: RedisClock;
}

export interface Heartbeat {
  /** Whether the last beat reached Redis. */
  readonly reachesRedis: boolean;
  /** Tells the register that this consumer takes nothing new. */
  drain(): Promise<void>;
  /** Takes the consumer out of the register. */
  stop(): Promise<void>;
}

/** Tells once a second that this consumer lives and how it does; resolves after the first time. */
export async function startHeartbeat(deps: HeartbeatDeps): Promise<Heartbeat> {
  const startedAt = deps.redisClock.now();
  const capacities = new Map(
    deps.models.map(({ manifest: { name } }) => [name, createCapacity(deps.rated.get(name) ?? 0)] as const),
  );
  let draining = false;
  let reachesRedis = true;

  const manifests = deps.models.map((model) => model.manifest);
  const beat = async () => {
    await deps.redisClock.measure();
    await keepPublished(deps.client, manifests);
    await register(deps.client, registration(deps, capacities, draining, startedAt), deps.redisClock.now());
  };
  let last: Promise<unknown> = Promise.resolve();
  const tick = () => {
    last = beat().then(
      () => (reachesRedis = true),
      () => (reachesRedis = false),
    );
    return last;
  };
  await beat();
  const timer = setInterval(() => {
    sampleCapacities(deps, capacities, reachesRedis);
    void tick();
    // What the gauges show is not worth a beat: streams or groups may be missing for a moment.
    void readLoads(deps).then(
      (loads) => (deps.gauges.loads = loads),
      () => undefined,
    );
  }, heartbeatMs);

  return {
    get reachesRedis() {
      return reachesRedis;
    },
    drain: async () => {
      draining = true;
      await tick();
    },
    stop: async () => {
      clearInterval(timer);
      await last;
      // Where Redis does not answer, the registration expires by itself.
      await unregister(deps.client, deps.consumer).catch(() => undefined);
    },
  };
}

function registration(
  { consumer, device, models, state, gauges: { memory } }: HeartbeatDeps,
  capacities: ReadonlyMap<string, Capacity>,
  draining: boolean,
  startedAt: number,
): Registration {
  return {
    ...{ v: 1, consumer, device, state: stateOf(state, draining), startedAt, lastReadAt: state.lastReadAt },
    memory: { residentBytes: residentBytes(), ...(memory ? { watched: watchedMemory(memory) } : {}) },
    models: models.map(({ manifest: { name, version } }) => ({
      model: name,
      version,
      tasksPerSecond: capacities.get(name)?.perSecond ?? 0,
    })),
  };
}

function watchedMemory({ source, level }: WatchedMemory): Registration['memory']['watched'] {
  if (level.state === 'unknown') return { source, ...level };
  const { state, usedBytes, limitBytes } = level;
  return { source, state, usedBytes, limitBytes };
}

/** Why a consumer takes nothing new, if it does not. A model that fails here counts as served as long as another does not. */
function stateOf({ failure, paused, holdings }: ConsumerState, draining: boolean): Registration['state'] {
  if (draining || failure !== undefined) return 'draining';
  if (paused !== undefined) return 'paused';
  return [...holdings.values()].every(({ health }) => health.sick) ? 'sick' : 'ready';
}

/** A model counts as saturated while its reads found as much as there was room for. */
function sampleCapacities(
  { state }: HeartbeatDeps,
  capacities: ReadonlyMap<string, Capacity>,
  reachesRedis: boolean,
): void {
  for (const [name, capacity] of capacities) {
    const holding = state.holdings.get(name);
    if (!holding) continue;
    const able = !holding.health.sick && state.paused === undefined && reachesRedis && holding.claimed === 0;
    const saturated = able && !holding.ranDry;
    holding.ranDry = false;
    capacity.sample(holding.ran, saturated, performance.now());
  }
}

async function readLoads({ client, models }: HeartbeatDeps): Promise<readonly ModelLoad[]> {
  const consumers = await liveConsumers(client);
  return Promise.all(
    models.map(async ({ manifest: { name } }) => {
      const stream = partitionKeys(name).tasks('normal');
      const [backlog, summary] = await Promise.all([client.xlen(stream), client.xpending(stream, consumerGroup)]);
      const serving = consumers.filter((one) => one.models.some(({ model }) => model === name));
      const pending = Number(summary[0] ?? 0);
      return { model: name, backlog, pending, waiting: Math.max(0, backlog - pending), liveConsumers: serving.length };
    }),
  );
}
