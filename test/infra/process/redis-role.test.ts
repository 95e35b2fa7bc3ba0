import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { checkStreamRole, sameServer } from '../../../infra/process/redis-role.js';
import { keysLeft, testRedisPair } from '../../redis.js';

const { stream, cache } = await testRedisPair();
const streamClient = stream.client();
const cacheClient = cache.client();

test('a server that never evicts may play the stream role', async () => {
  const facts = await checkStreamRole(streamClient);
  assert.equal(facts.evictionPolicy, 'noeviction');
  assert.match(facts.version, /^\d+\.\d+/);
});

test('a server that evicts is refused the stream role, and the message names the policy', async () => {
  await assert.rejects(checkStreamRole(cacheClient), /allkeys-lfu.*noeviction.*CACHE_REDIS_URL/);
});

test('the policy is known although CONFIG is forbidden', async () => {
  await cacheClient.call('ACL', 'SETUSER', 'plain', 'on', '>pw', '+@all', '-config', 'allkeys');
  const plain = new Redis(cache.url, { username: 'plain', password: 'pw' });
  try {
    await assert.rejects(plain.config('GET', 'maxmemory-policy'), /NOPERM/);
    await assert.rejects(checkStreamRole(plain), /allkeys-lfu/);
  } finally {
    plain.disconnect();
  }
});

test('one server in both roles is told from two', async () => {
  const second = new Redis(stream.url, { db: 1 });
  try {
    assert.equal(await sameServer(streamClient, second), true);
    assert.equal(await sameServer(streamClient, cacheClient), false);
  } finally {
    second.disconnect();
  }
});

test('a cache that is away is not taken for the stream server', async () => {
  const away = new Redis('redis://127.0.0.1:1', { maxRetriesPerRequest: 0, retryStrategy: null });
  away.on('error', () => undefined);
  assert.equal(await sameServer(streamClient, away), false);
});

test('every key that is left is named, in order', async () => {
  await streamClient.mset('b', '1', 'a', '2');
  assert.deepEqual(await keysLeft(streamClient), ['a', 'b']);
  await streamClient.flushall();
  assert.deepEqual(await keysLeft(streamClient), []);
});
