import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '../../infra/setup/free-port.js';
import { startRedis } from '../../infra/setup/start-redis.js';
import { startFaultProxy, type FaultProxy } from '../fault-proxy.js';
import { until } from '../integration/system.js';
import { startLoad, type Load, type Order } from './load.js';
import { startPart, type Part } from './part.js';
import { startStreamServers, type StreamServers } from './stream-servers.js';
import { tokenSecret } from './tenants.js';
import { times } from './times.js';

/** A part and its own way to the stream role. */
export interface Station {
  readonly part: Part;
  readonly proxy: FaultProxy;
}

/** Everything that runs: servers, parts as shipped, clients. */
export interface World {
  readonly model: string;
  readonly streams: StreamServers;
  readonly edges: readonly Station[];
  readonly backends: readonly Station[];
  readonly stations: readonly Station[];
  readonly load: Load;
  pending(): Promise<number>;
  /** Resolves when every part is ready. @throws Error naming those that are not, after a bound */
  untilReady(): Promise<void>;
  /** Ends all processes; answers what did not end as it should. May be called twice. */
  stop(): Promise<readonly string[]>;
}

export interface WorldOptions {
  readonly dir: string;
  readonly redisBinary: string;
  readonly model: string;
  readonly backends: number;
  /** What the backends are told beside their ports and servers. */
  readonly backendEnv: Readonly<Record<string, string>>;
  /** Most tasks that the edges admit. */
  readonly maxTasks: number;
  readonly clients: Omit<Order, 'edges' | 'model' | 'tokenSecret'>;
}

/** Milliseconds that a part may take to drain at the end. */
const drainLimitMs = 15_000;

/** Folder of what the servers write, which is a lot. */
export function serversIn(dir: string): string {
  return join(dir, 'servers');
}

/** Starts everything and waits until all parts are ready. What was started is stopped again where that fails. */
export async function startWorld(options: WorldOptions): Promise<World> {
  const undo: (() => unknown)[] = [];
  try {
    return await build(options, undo);
  } catch (error) {
    for (const step of undo.reverse()) await step();
    throw error;
  }
}

async function build(options: WorldOptions, undo: (() => unknown)[]): Promise<World> {
  const { dir, redisBinary: binary, model } = options;
  const ownPort = portsOfOurs();
  const streams = await startStreamServers(binary, serversIn(dir), ownPort);
  undo.push(() => streams.stop());
  const cache = await startRedis({ role: 'cache', binary, dir: join(serversIn(dir), 'cache') });
  undo.push(() => cache.stop());
  const logs = join(dir, 'logs');
  mkdirSync(logs, { recursive: true });
  const place = placeParts(options, { streams, cacheUrl: cache.url, logs, ownPort, undo });
  const [ahead, behind] = [times.clocksOffMs.ahead, times.clocksOffMs.behind];
  const edges = [await place('edge', 0, 0), await place('edge', 1, ahead)];
  const backends: Station[] = [];
  for (let i = 0; i < options.backends; i++) backends.push(await place('backend', i, [0, behind, ahead][i] ?? 0));
  const stations = [...edges, ...backends];
  const untilReady = () => allReady(stations);
  await untilReady();
  const load = await startLoad({ ...options.clients, model, tokenSecret, edges: edges.map(({ part }) => part.url) });
  undo.push(() => load.kill());
  return {
    ...{ model, streams, edges, backends, stations, load, untilReady },
    pending: () => streams.pending(model),
    stop: async () => {
      const ends = await Promise.all(stations.map(({ part }) => part.stop(drainLimitMs)));
      for (const step of undo.splice(0).reverse()) await step();
      return stations.flatMap(({ part }, i) => (ends[i] === 'status 0' ? [] : [`${part.name}: ${ends[i] ?? ''}`]));
    },
  };
}

/**
 * Ports that must still be free when what listened there starts again: below those that the system gives to outgoing
 * connections, and in another place for each process that runs worlds.
 */
function portsOfOurs(): () => Promise<number> {
  const first = 10_000 + (process.pid % 200) * 100;
  const taken = new Set<number>();
  return async () => {
    const port = await freePort(first, taken);
    taken.add(port);
    return port;
  };
}

interface Surroundings {
  readonly streams: StreamServers;
  readonly cacheUrl: string;
  readonly logs: string;
  readonly ownPort: () => Promise<number>;
  readonly undo: (() => unknown)[];
}

/** Two tenants, whom nothing limits: what limits spend is not of this suite. */
const access = { SAMPAN_AUTH: 'on', SAMPAN_JWT_SECRET: tokenSecret, SAMPAN_TIERS: '{"free":{}}' };

function placeParts(options: WorldOptions, { streams, cacheUrl, logs, ownPort, undo }: Surroundings) {
  return async (kind: 'edge' | 'backend', number: number, clockOffMs: number): Promise<Station> => {
    const proxy = await startFaultProxy(streams.port);
    undo.push(() => proxy.close());
    const own = await ownPort();
    const shared = { REDIS_URL: proxy.url, CACHE_REDIS_URL: cacheUrl, METRICS_PORT: '0' };
    const name = `${kind}-${String(number)}`;
    const part = startPart({
      ...{ name, clockOffMs, dir: logs, url: `http://127.0.0.1:${String(own)}` },
      module: kind === 'edge' ? 'edge.mjs' : 'backend/main.js',
      env:
        kind === 'edge'
          ? { ...shared, ...access, PORT: String(own), SAMPAN_MAX_TASKS: String(options.maxTasks) }
          : {
              ...{ ...shared, HEALTH_PORT: String(own), SAMPAN_LEASE_MS: String(times.leaseMs) },
              ...{ SAMPAN_RESULT_SECONDS: String(times.resultSeconds), ...options.backendEnv },
            },
    });
    undo.push(() => part.stop(0));
    return { part, proxy };
  };
}

async function allReady(stations: readonly Station[]): Promise<void> {
  const missing = () => stations.filter(({ part }) => !part.isReady).map(({ part }) => part.name);
  await until(missing, (names) => names.length === 0, times.limits.readyMs);
}
