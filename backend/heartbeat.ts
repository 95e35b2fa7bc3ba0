import type { Redis } from 'ioredis';
import { keepPublished } from '../contracts/catalogue.js';
import { consumerGroup, partitionKeys } from '../contracts/keys.js';
import type { DeviceKind } from '../contracts/model.js';
import { heartbeatMs, liveConsumers, register, unregister, type Registration } from '../contracts/register.js';
import type { ConsumerState } from './consumer.js';
import type { ModelLoad } from './metrics.js';
import type { Model } from './model/model.js';
import type { RedisClock } from './redis-clock.js';
import { residentBytes } from './resident-memory.js';

/** What the gauges show; every beat renews it. */
export interface Gauges {
  loads: readonly ModelLoad[];
}

export interface HeartbeatDeps {
  readonly gauges: Gauges;
  readonly client: Redis;
  readonly consumer: string;
  readonly device: { readonly kind: DeviceKind; readonly name: string };
  readonly models: readonly Model[];
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

/** Beats over which the rate of a model is averaged. */
const rateBeats = 10;

/** Tells once a second that this consumer lives and how it does; resolves after the first time. */
export async function startHeartbeat(deps: HeartbeatDeps): Promise<Heartbeat> {
  const startedAt = deps.redisClock.now();
  const rates = new Map(deps.models.map((model) => [model.manifest.name, createRate()]));
  let stateName: Registration['state'] = 'ready';
  let reachesRedis = true;

  const manifests = deps.models.map((model) => model.manifest);
  const beat = async () => {
    await deps.redisClock.measure();
    await keepPublished(deps.client, manifests);
    await register(deps.client, registration(deps, rates, stateName, startedAt), deps.redisClock.now());
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
    for (const [name, rate] of rates) rate.sample(deps.state.settledCount.get(name) ?? 0);
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
      stateName = 'draining';
      await tick();
    },
    stop: async () => {
      clearInterval(timer);
      await last;
      await unregister(deps.client, deps.consumer);
    },
  };
}

function registration(
  { consumer, device, models, state }: HeartbeatDeps,
  rates: ReadonlyMap<string, Rate>,
  stateName: Registration['state'],
  startedAt: number,
): Registration {
  return {
    ...{ v: 1, consumer, device, state: stateName, startedAt, lastReadAt: state.lastReadAt },
    memory: { residentBytes: residentBytes() },
    models: models.map(({ manifest: { name, version } }) => ({
      model: name,
      version,
      tasksPerSecond: rates.get(name)?.perSecond() ?? 0,
    })),
  };
}

async function readLoads({ client, models }: HeartbeatDeps): Promise<readonly ModelLoad[]> {
  const consumers = await liveConsumers(client);
  return Promise.all(
    models.map(async ({ manifest: { name } }) => {
      const stream = partitionKeys(name).tasks('normal');
      const [backlog, summary] = await Promise.all([client.xlen(stream), client.xpending(stream, consumerGroup)]);
      const serving = consumers.filter((one) => one.models.some(({ model }) => model === name));
      return { model: name, backlog, pending: Number(summary[0] ?? 0), liveConsumers: serving.length };
    }),
  );
}

interface Rate {
  sample(total: number): void;
  perSecond(): number;
}

/** Tasks per second over the last beats, from a count that only grows. */
function createRate(): Rate {
  const totals: number[] = [0];
  return {
    sample: (total) => {
      totals.push(total);
      if (totals.length > rateBeats + 1) totals.shift();
    },
    perSecond: () => {
      const grown = (totals.at(-1) ?? 0) - (totals[0] ?? 0);
      return totals.length > 1 ? (grown * 1000) / ((totals.length - 1) * heartbeatMs) : 0;
    },
  };
}
