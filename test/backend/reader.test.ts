import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { consumerGroup } from '../../contracts/keys.js';
import { ensureGroup, readNew } from '../../backend/reader.js';
import { until } from '../integration/system.js';
import { testRedis } from '../redis.js';
import { pending } from '../tasks.js';

const redis = await testRedis();
const client = redis.client();
const blocking = redis.client();
const streams = ['sampan:{toy:0}:tasks:normal', 'sampan:{toy:0}:tasks:high'] as const;
const [stream] = streams;
beforeEach(() => client.flushall());

const add = (text: string, to: string = stream) => client.xadd(to, '*', 'text', text);
const read = (count = 10) => readNew(blocking, 'one', [stream], count);
const textsOf = (entries: Awaited<ReturnType<typeof readNew>>) => entries.map(({ fields }) => fields[1]);
const blocked = () =>
  until(
    () => client.info('clients'),
    (info) => info.includes('blocked_clients:1'),
  );

test('a group is made once, and made again it keeps its place', async () => {
  await ensureGroup(client, stream);
  await add('a');
  assert.deepEqual(textsOf(await read()), ['a']);
  await ensureGroup(client, stream);
  await add('b');
  assert.deepEqual(textsOf(await read()), ['b']);
});

test('entries that were there before the group are read too', async () => {
  await add('early');
  await ensureGroup(client, stream);
  const [entry] = await read();
  assert.deepEqual([entry?.stream, entry?.fields], [stream, ['text', 'early']]);
  assert.deepEqual(await pending(client), [[entry?.entryId, 'one']]);
});

test('no more are read than there is room for', async () => {
  await ensureGroup(client, stream);
  for (const text of ['a', 'b', 'c']) await add(text);
  assert.deepEqual(textsOf(await read(2)), ['a', 'b']);
  assert.deepEqual(textsOf(await read(2)), ['c']);
});

test('a read that finds nothing ends by itself, with nothing', async () => {
  await ensureGroup(client, stream);
  assert.deepEqual(await read(), []);
});

test('a read that waits gets what comes meanwhile, from any of its streams', async () => {
  for (const each of streams) await ensureGroup(client, each);
  const reading = readNew(blocking, 'one', streams, 10);
  await blocked();
  await add('urgent', streams[1]);
  const [entry] = await reading;
  assert.deepEqual([entry?.stream, entry?.fields[1]], [streams[1], 'urgent']);
});

test('a group that is not there is made, and nothing is missed', async () => {
  await add('before');
  assert.deepEqual(await read(), []);
  assert.deepEqual(textsOf(await read()), ['before']);
});

test('a flush during a blocked read is survived: the next read finds what came after it', async () => {
  await ensureGroup(client, stream);
  const reading = read();
  await blocked();
  await client.flushall();
  assert.deepEqual(await reading, []);
  await add('after');
  const found = await until(read, (entries) => entries.length > 0);
  assert.deepEqual(textsOf(found), ['after']);
  assert.equal(((await client.xinfo('GROUPS', stream)) as unknown[][])[0]?.[1], consumerGroup);
});

test('a stream deleted during a blocked read is survived alike', async () => {
  await ensureGroup(client, stream);
  const reading = read();
  await blocked();
  await client.del(stream);
  assert.deepEqual(await reading, []);
  await add('after');
  assert.deepEqual(textsOf(await until(read, (entries) => entries.length > 0)), ['after']);
});

test('any other error is thrown, for whoever knows what to do', async () => {
  await client.set(stream, 'no stream');
  await assert.rejects(read(), /WRONGTYPE/);
  await assert.rejects(ensureGroup(client, stream), /WRONGTYPE/);
});
