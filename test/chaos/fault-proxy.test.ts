import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { Redis } from 'ioredis';
import { startFaultProxy, type FaultProxy } from '../fault-proxy.js';
import { testRedis, type TestRedis } from '../redis.js';

const redis = await testRedis();
const other = await testRedis();

/** A proxy of its own, with a client that neither tries again nor keeps commands for later. */
async function through(server: TestRedis): Promise<{ proxy: FaultProxy; client: Redis; direct: Redis }> {
  const proxy = await startFaultProxy(server.port);
  after(() => proxy.close());
  return { proxy, client: newClient(proxy), direct: server.client() };
}

function newClient(proxy: FaultProxy): Redis {
  const client = redis.adopt(new Redis(proxy.url, { retryStrategy: () => null, maxRetriesPerRequest: 0 }));
  client.on('error', () => undefined);
  return client;
}

/** `once` would reject with the reset that comes before the end. */
function endOf(client: Redis): Promise<void> {
  return new Promise((resolve) => void client.once('end', resolve));
}

test('what is sent comes back unchanged, in pieces and large', async () => {
  const { proxy, client } = await through(redis);
  const bytes = Buffer.alloc(3_000_000, 'sampan');
  await client.set('large', bytes);
  assert.deepEqual(await client.getBuffer('large'), bytes);
  assert.equal(proxy.connections, 1);
});

test('a reset reaches every connection, as a reset', { timeout: 30_000 }, async () => {
  const { proxy, client } = await through(redis);
  await client.ping();
  const raw = connect(proxy.port, '127.0.0.1');
  const failed = once(raw, 'error');
  raw.write('PING\r\n');
  await once(raw, 'data');
  const ended = endOf(client);
  assert.equal(proxy.reset(), 2);
  const [error] = (await failed) as [NodeJS.ErrnoException];
  assert.equal(error.code, 'ECONNRESET');
  await ended;
  assert.equal(await newClient(proxy).ping(), 'PONG');
});

test('while stalled nothing arrives, and after the release nothing is missing', async () => {
  const { proxy, client, direct } = await through(redis);
  await client.del('counted');
  proxy.stall();
  const late = newClient(proxy);
  const answers = Promise.all([client.incr('counted'), late.incr('counted')]);
  // Anything that was let through would have been served before this, in either direction.
  for (let round = 0; round < 20; round++) await direct.ping();
  assert.equal(await direct.get('counted'), null);
  proxy.release();
  assert.deepEqual((await answers).sort(), [1, 2]);
});

test('a server that is away takes nobody, until it is back', async () => {
  const { proxy, client } = await through(redis);
  await client.ping();
  const ended = endOf(client);
  proxy.refuse();
  await ended;
  await assert.rejects(newClient(proxy).ping());
  proxy.accept();
  assert.equal(await newClient(proxy).ping(), 'PONG');
});

test('led elsewhere, everybody must connect anew and finds the other server', async () => {
  const { proxy, client } = await through(redis);
  await client.set('where', 'here');
  await other.client().set('where', 'there');
  const ended = endOf(client);
  proxy.lead(other.port);
  await ended;
  assert.equal(await newClient(proxy).get('where'), 'there');
});

test('a dropped reply: the request ran once, its sender sees a reset', async () => {
  const { proxy, client, direct } = await through(redis);
  await direct.del('log');
  const dropped = proxy.dropReplyAfter('second');
  await client.rpush('log', 'first');
  await assert.rejects(client.rpush('log', 'second'));
  await dropped;
  assert.deepEqual(await direct.lrange('log', 0, -1), ['first', 'second']);
  await newClient(proxy).rpush('log', 'second');
  assert.deepEqual(await direct.lrange('log', 0, -1), ['first', 'second', 'second']);
});

test('a dropped reply of a transaction: all of it ran, and nothing behind it', async () => {
  const { proxy, client, direct } = await through(redis);
  await direct.del('log');
  const dropped = proxy.dropReplyAfter('needle');
  const transaction = client.multi().set('filling', Buffer.alloc(500_000)).rpush('log', 'needle').rpush('log', 'last');
  const answers = await Promise.allSettled([transaction.exec(), client.rpush('log', 'behind')]);
  await dropped;
  assert.deepEqual(
    answers.map((answer) => answer.status),
    ['rejected', 'rejected'],
  );
  assert.deepEqual(await direct.lrange('log', 0, -1), ['needle', 'last']);
});

test('a drop that never comes is told when the proxy is closed', { timeout: 30_000 }, async () => {
  const { proxy } = await through(redis);
  const rejected = assert.rejects(proxy.dropReplyAfter('never'), /closed/);
  await proxy.close();
  await rejected;
});
