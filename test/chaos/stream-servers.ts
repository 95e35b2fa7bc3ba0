import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { consumerGroup, partitionKeys } from '../../contracts/keys.js';
import { startRedis, type RunningRedis } from '../../infra/setup/start-redis.js';
import { until } from '../integration/system.js';
import { times } from './times.js';

/** The stream role as production runs it: a primary that syncs every write, and a replica that follows it. */
export interface StreamServers {
  /** Port of whichever server is the primary now. */
  readonly port: number;
  /** A plain connection to the primary, past all proxies. */
  readonly direct: Redis;
  /** Entries that were delivered and not acked; 0 while the primary is away. */
  pending(model: string): Promise<number>;
  /** Kills the primary and starts it again from its append-only file, on the same port. */
  crash(awayMs: number): Promise<void>;
  /** Kills the primary and promotes the replica; answers the new primary's port. */
  promote(): Promise<number>;
  /** Gives the new primary a replica again, once it was promoted; resolves when that has caught up. */
  replicate(): Promise<void>;
  stop(): Promise<void>;
}

/** Starts both servers; resolves when the replica has caught up. @param ownPort a port that is ours for the whole run */
export async function startStreamServers(
  binary: string,
  dir: string,
  ownPort: () => Promise<number>,
): Promise<StreamServers> {
  let made = 0;
  const start = async (extra: readonly string[]) => {
    return startAt(await ownPort(), join(dir, `stream-${String(made++)}`), extra);
  };
  const startAt = (port: number, folder: string, extra: readonly string[]) =>
    startRedis({ role: 'stream', binary, port, dir: folder, extra: [...durable, ...extra] });
  const follow = (port: number) => start(['--replicaof', `127.0.0.1 ${String(port)}`]);

  let primary = await start([]);
  let replica = await follow(primary.port);
  let direct = connect(primary.port);
  await caughtUp(replica);

  const kill = async (server: RunningRedis) => {
    process.kill(server.pid, 'SIGKILL');
    await server.exited;
    await server.stop();
  };
  return {
    get port() {
      return primary.port;
    },
    get direct() {
      return direct;
    },
    pending: async (model) => {
      try {
        const [count] = await direct.xpending(partitionKeys(model).tasks('normal'), consumerGroup);
        return Number(count);
      } catch {
        return 0;
      }
    },
    crash: async (awayMs) => {
      await kill(primary);
      await new Promise((resolve) => setTimeout(resolve, awayMs));
      primary = await startAt(primary.port, primary.dir, []);
    },
    promote: async () => {
      const old = primary;
      await kill(old);
      direct.disconnect();
      direct = connect(replica.port);
      await direct.replicaof('NO', 'ONE');
      primary = replica;
      rmSync(old.dir, { recursive: true, force: true });
      return primary.port;
    },
    replicate: async () => {
      replica = await follow(primary.port);
      await caughtUp(replica);
    },
    stop: async () => {
      direct.disconnect();
      await Promise.all([primary.stop(), replica.stop()]);
    },
  };
}

/** What is acknowledged is on disk; a replica need not wait for others to be synced with it. */
const durable = ['--appendfsync', 'always', '--repl-diskless-sync-delay', '0'];

function connect(port: number): Redis {
  const client = new Redis(port, '127.0.0.1', { maxRetriesPerRequest: 0, retryStrategy: () => 50 });
  client.on('error', () => undefined);
  return client;
}

async function caughtUp(replica: RunningRedis): Promise<void> {
  const client = connect(replica.port);
  try {
    await until(
      () => client.info('replication').catch(String),
      (info) => info.includes('master_link_status:up'),
      times.limits.readyMs,
    );
  } finally {
    client.disconnect();
  }
}
