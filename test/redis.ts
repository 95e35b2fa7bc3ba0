import { after } from 'node:test';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { findRedisServer } from '../infra/setup/redis-server.js';
import { startRedis, type RedisRole, type RunningRedis } from '../infra/setup/start-redis.js';

export interface TestRedis {
  readonly url: string;
  readonly port: number;
  /** Process id of the server that runs at present. */
  readonly pid: number;
  /** A plain client, disconnected before the server stops at the end of the file. */
  client(): Redis;
  /** Disconnects somebody else's client likewise; a client that outlives its server keeps the file open for a while. */
  adopt<Client extends { disconnect(): void }>(client: Client): Client;
  /** Stops the server; connections to it break. Its data is gone unless it was started with a folder of its own. */
  stop(): Promise<void>;
  /** Starts it again on the same port after a stop, with the same settings. */
  start(): Promise<void>;
}

export interface TestRedisOptions {
  readonly role?: RedisRole;
  /** Keeps the data over stop and start. */
  readonly dir?: string;
  readonly appendOnly?: boolean;
  /** More of the server's command line, such as ['--maxmemory', '50mb']. */
  readonly extra?: readonly string[];
}

/**
 * Starts a real, private Redis for the test file that calls it at its top level; it is stopped when the file ends.
 * @throws Error where no server program is installed: a missing tool fails, it does not skip
 */
export async function testRedis(options: TestRedisOptions = {}): Promise<TestRedis> {
  const { role = 'stream', appendOnly = false, ...rest } = options;
  const settings = { role, appendOnly, ...rest, binary: await serverBinary() };
  let server: RunningRedis = await startRedis(settings);
  const { port, url } = server;
  const clients: { disconnect(): void }[] = [];
  const adopt = <Client extends { disconnect(): void }>(client: Client): Client => {
    clients.push(client);
    return client;
  };
  after(async () => {
    for (const client of clients) client.disconnect();
    await server.stop();
  });
  return {
    adopt,
    client: () => adopt(new Redis(url)),
    port,
    url,
    get pid() {
      return server.pid;
    },
    stop: () => server.stop(),
    start: async () => {
      server = await startRedis({ ...settings, port });
    },
  };
}

/** Both roles, each on a server of its own. */
export async function testRedisPair(): Promise<{ stream: TestRedis; cache: TestRedis }> {
  const [stream, cache] = await Promise.all([testRedis({ role: 'stream' }), testRedis({ role: 'cache' })]);
  return { stream, cache };
}

/** Every key that is left, sorted: a test that cleans up after itself leaves what it names, and nothing else. */
export async function keysLeft(client: Redis): Promise<string[]> {
  const keys = new Set<string>();
  let cursor = '0';
  do {
    const [next, found] = await client.scan(cursor, 'COUNT', 1000);
    for (const key of found) keys.add(key);
    cursor = next;
  } while (cursor !== '0');
  return [...keys].sort();
}

/** `npm test` names the program; a test file that is run by hand finds it as `npm test` would. */
export async function serverBinary(): Promise<string> {
  const named = process.env['SAMPAN_TEST_REDIS_BIN'];
  if (named) return named;
  const found = await findRedisServer(process.env['PATH'], join(process.cwd(), '.cache', 'redis'));
  if (!found) throw new Error('no redis-server 7.0 or later was found; `npm test` fetches one');
  return found.binary;
}
