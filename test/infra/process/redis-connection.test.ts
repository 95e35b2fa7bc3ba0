import assert from 'node:assert/strict';
import { on } from 'node:events';
import { test } from 'node:test';
import type { Redis } from 'ioredis';
import {
  connectBlocking,
  connectCache,
  connectCommands,
  connectSubscriber,
  reconnectDelay,
  untilReady,
} from '../../../infra/process/redis-connection.js';
import { testRedis } from '../../redis.js';

interface LogLine {
  readonly level: 'info' | 'warn';
  readonly fields: object;
  readonly message: string;
}

const redis = await testRedis();

function recorder() {
  const lines: LogLine[] = [];
  const note = (level: LogLine['level']) => (fields: object, message: string) => lines.push({ level, fields, message });
  return { lines, info: note('info'), warn: note('warn') };
}

/** The next such event; unlike `once` of node:events it does not mind errors, which are expected here. */
function next(client: Redis, event: 'ready' | 'close'): Promise<void> {
  return new Promise((resolve) => client.once(event, () => resolve()));
}

test('a command fails at once while the server is away, and works again after', async () => {
  const logger = recorder();
  const client = redis.adopt(connectCommands(redis.url, { name: 'away', logger }));
  await untilReady(client, 5_000);
  assert.equal(await client.set('k', 'v'), 'OK');

  const closed = next(client, 'close');
  await redis.stop();
  await closed;
  await assert.rejects(client.get('k'), /enableOfflineQueue/);

  await redis.start();
  await untilReady(client, 10_000);
  assert.equal(await client.get('k'), null);
  assert.equal(logger.lines.at(-1)?.message, 'connected to Redis again');
});

test('what was in flight when the connection broke is rejected, and not sent again', async () => {
  const logger = recorder();
  const blocked = redis.adopt(connectBlocking(redis.url, { name: 'in-flight', logger, longestBlockMs: 60_000 }));
  const other = redis.adopt(connectCommands(redis.url, { name: 'killer', logger }));
  await Promise.all([untilReady(blocked, 5_000), untilReady(other, 5_000)]);
  const reading = blocked.blpop('nothing-here', 60);
  const rejected = assert.rejects(reading, /max retries per request/i);
  while (!(await clientLine(other, 'in-flight'))?.includes('cmd=blpop'));

  await other.client('KILL', 'ID', idOf(await clientLine(other, 'in-flight')));
  await rejected;
  await untilReady(blocked, 10_000);
  await other.rpush('nothing-here', 'x');
  assert.equal(await other.lpop('nothing-here'), 'x', 'nobody else was reading the list');
});

test('a command that the server does not answer fails after a bounded silence, and the cache gives up first', async () => {
  const logger = recorder();
  const stream = redis.adopt(connectCommands(redis.url, { name: 'slow', logger, silenceLimitMs: 3_000 }));
  const cache = redis.adopt(connectCache(redis.url, { name: 'slow-cache', logger }));
  await Promise.all([untilReady(stream, 5_000), untilReady(cache, 5_000)]);

  process.kill(redis.pid, 'SIGSTOP');
  const failed: string[] = [];
  const asked = [
    assert.rejects(stream.get('k'), /max retries per request/).then(() => failed.push('stream')),
    assert.rejects(cache.get('k'), /max retries per request/).then(() => failed.push('cache')),
  ];
  await Promise.all(asked);
  process.kill(redis.pid, 'SIGCONT');
  assert.deepEqual(failed, ['cache', 'stream']);
  await untilReady(stream, 10_000);
  assert.equal(await stream.set('k', 'v'), 'OK');
});

test('trouble is logged at most once a second, without the password', async () => {
  const logger = recorder();
  const url = 'redis://someone:secret-word@127.0.0.1:1';
  const client = redis.adopt(connectCommands(url, { name: 'nobody-there', logger }));
  let errors = 0;
  client.on('error', () => (errors += 1));
  const started = performance.now();
  while (errors < 6) await next(client, 'close');

  const seconds = (performance.now() - started) / 1_000;
  assert.ok(logger.lines.length <= Math.floor(seconds) + 1, `${logger.lines.length} lines in ${seconds.toFixed(1)} s`);
  assert.match(JSON.stringify(logger.lines), /ECONNREFUSED/);
  assert.doesNotMatch(JSON.stringify(logger.lines), /secret-word/);
  await assert.rejects(untilReady(client, 200), (error: Error) => {
    assert.match(error.message, /127\.0\.0\.1:1 is not ready after 200 ms/);
    assert.doesNotMatch(error.message, /secret-word/);
    return true;
  });
});

test('the delay before a reconnect doubles up to a second, and half of it is chance', () => {
  for (let attempt = 1; attempt <= 12; attempt += 1) {
    const ceiling = Math.min(50 * 2 ** (attempt - 1), 1_000);
    const delays = Array.from({ length: 200 }, () => reconnectDelay(attempt));
    assert.ok(Math.min(...delays) >= ceiling / 2 && Math.max(...delays) <= ceiling);
    assert.ok(new Set(delays).size > 5);
  }
});

test('a subscriber is subscribed again after its connection was lost, and says so', async () => {
  const logger = recorder();
  let standing = 0;
  const subscriber = redis.adopt(
    connectSubscriber(redis.url, {
      name: 'listener',
      logger,
      channels: ['replies'],
      onSubscribed: () => (standing += 1),
    }),
  );
  const publisher = redis.adopt(connectCommands(redis.url, { name: 'publisher', logger }));
  await Promise.all([untilReady(subscriber, 5_000), untilReady(publisher, 5_000)]);
  const messages = on(subscriber, 'smessageBuffer');

  await publishUntilHeard(publisher, 'one');
  assert.deepEqual((await messages.next()).value.map(String), ['replies', 'one']);
  const closed = next(subscriber, 'close');
  await publisher.client('KILL', 'ID', idOf(await clientLine(publisher, 'listener')));
  await closed;
  await publishUntilHeard(publisher, 'two');
  assert.deepEqual((await messages.next()).value.map(String), ['replies', 'two']);
  // A message may overtake the word that the subscription stands, by a turn of the event loop.
  for (let turn = 0; standing < 2 && turn < 1000; turn++) await new Promise(setImmediate);
  assert.equal(standing, 2);
});

test('a subscription that the server refuses is asked for again and ends nothing', async () => {
  const logger = recorder();
  const admin = redis.adopt(connectCommands(redis.url, { name: 'admin', logger }));
  await untilReady(admin, 5_000);
  await admin.call('ACL', 'SETUSER', 'ear', 'on', '>pw', '+@all', '-ssubscribe', 'allkeys', 'allchannels');
  let standing = () => {};
  const stands = new Promise<void>((resolve) => (standing = resolve));
  const url = redis.url.replace('redis://', 'redis://ear:pw@');
  redis.adopt(
    connectSubscriber(url, { name: 'refused', logger, channels: ['replies'], onSubscribed: () => standing() }),
  );
  while (!logger.lines.some((line) => line.message === 'subscribing failed')) await admin.ping();

  await admin.call('ACL', 'SETUSER', 'ear', '+ssubscribe');
  await stands;
});

async function publishUntilHeard(publisher: Redis, message: string): Promise<void> {
  while ((await publisher.spublish('replies', message)) === 0);
}

async function clientLine(client: Redis, name: string): Promise<string | undefined> {
  const list = String(await client.client('LIST'));
  return list.split('\n').find((line) => line.includes(` name=${name} `));
}

function idOf(line: string | undefined): string {
  return /^id=(\d+)/.exec(line ?? '')?.[1] ?? assert.fail('no such client');
}
