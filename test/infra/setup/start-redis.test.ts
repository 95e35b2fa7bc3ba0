import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import * as z from 'zod';
import { startRedis } from '../../../infra/setup/start-redis.js';
import { serverBinary } from '../../redis.js';

const binary = await serverBinary();
const startedSchema = z.object({ pid: z.int(), dir: z.string() });

test('the stream role never evicts and syncs its file every second; the cache role evicts and keeps nothing', async () => {
  const stream = await startRedis({ role: 'stream', binary });
  const cache = await startRedis({ role: 'cache', binary });
  try {
    const names = ['maxmemory-policy', 'appendonly', 'appendfsync', 'maxmemory', 'save'];
    const [streamSettings, cacheSettings] = await Promise.all([
      settings(stream.url, names),
      settings(cache.url, names),
    ]);
    assert.deepEqual(streamSettings, ['noeviction', 'yes', 'everysec', '0', '']);
    assert.deepEqual(cacheSettings, ['allkeys-lfu', 'no', 'everysec', String(256 * 1024 * 1024), '']);
  } finally {
    await Promise.all([stream.stop(), cache.stop()]);
  }
});

test('a stopped server is gone, with its folder, and may be stopped again', async () => {
  const server = await startRedis({ role: 'cache', binary });
  assert.ok(isRunning(server.pid));
  await server.stop();
  await server.stop();
  assert.equal(isRunning(server.pid), false);
  assert.equal(existsSync(server.dir), false);
});

test('a server with a folder of its own finds its data again', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'sampan-test-'));
  try {
    const first = await startRedis({ role: 'stream', binary, dir });
    await withClient(first.url, (client) => client.set('kept', 'yes'));
    await first.stop();
    const second = await startRedis({ role: 'stream', binary, dir });
    assert.equal(await withClient(second.url, (client) => client.get('kept')), 'yes');
    await second.stop();
  } finally {
    rmSync(dir, { recursive: true });
  }
});

test('a port that another server has is refused, though that server says PONG', async () => {
  const first = await startRedis({ role: 'cache', binary });
  try {
    await assert.rejects(
      startRedis({ role: 'cache', binary, port: first.port }),
      /did not start.*Address already in use/s,
    );
    assert.ok(isRunning(first.pid));
  } finally {
    await first.stop();
  }
});

test('a setting that the server does not know is reported in its own words', async () => {
  const start = startRedis({ role: 'cache', binary, extra: ['--no-such-setting', '1'] });
  await assert.rejects(start, /did not start/);
});

test('the server ends, and its folder goes, when the process that started it is killed', async () => {
  const module = new URL('../../../infra/setup/start-redis.js', import.meta.url).href;
  const options = JSON.stringify({ role: 'cache', binary });
  const script = `
    const { startRedis } = await import(${JSON.stringify(module)});
    const { pid, dir } = await startRedis(${options});
    console.log(JSON.stringify({ pid, dir }));
    setInterval(() => {}, 1000);`;
  const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  try {
    const [line]: unknown[] = await once(parent.stdout, 'data');
    const { pid, dir } = startedSchema.parse(JSON.parse(String(line)));
    assert.ok(isRunning(pid));

    parent.kill('SIGKILL');
    await until(() => !isRunning(pid) && !existsSync(dir));
  } finally {
    parent.kill('SIGKILL');
  }
});

async function settings(url: string, names: readonly string[]): Promise<unknown[]> {
  return withClient(url, (client) =>
    Promise.all(
      names.map(async (name) => {
        const reply: unknown = await client.config('GET', name);
        return Array.isArray(reply) ? reply[1] : undefined;
      }),
    ),
  );
}

async function withClient<T>(url: string, use: (client: Redis) => Promise<T>): Promise<T> {
  const client = new Redis(url);
  try {
    return await use(client);
  } finally {
    client.disconnect();
  }
}

function isRunning(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Nobody tells when a stranger's child ends, so it is asked for; the runner's time limit bounds the wait. */
async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await new Promise((resolve) => setTimeout(resolve, 20));
}
