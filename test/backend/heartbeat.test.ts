import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { createConsumerState } from '../../backend/consumer.js';
import { startHeartbeat, type Gauges, type Heartbeat } from '../../backend/heartbeat.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { createRedisClock } from '../../backend/redis-clock.js';
import { ensureGroup } from '../../backend/reader.js';
import { readCatalogue } from '../../contracts/catalogue.js';
import { registerKey } from '../../contracts/keys.js';
import { liveConsumers, registrationLifeMs } from '../../contracts/register.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { until } from '../integration/system.js';
import { testRedis } from '../redis.js';
import { enqueueOne, deliver, enqueueRequest, toyStream } from '../tasks.js';
import { depsOn } from './deliveries.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const model = simulatedModel({ manifest: { name: 'toy', version: '3' } });
const state = createConsumerState(depsOn(client, [model]), new AbortController().signal);
const beating: Heartbeat[] = [];
after(async () => {
  for (const heartbeat of beating) await heartbeat.stop().catch(() => undefined);
});
beforeEach(() => client.flushall());

async function start(consumer: string, own: Redis = client) {
  const gauges: Gauges = { loads: [] };
  const redisClock = createRedisClock(own, () => Date.now());
  const heartbeat = await startHeartbeat({
    ...{ gauges, consumer, redisClock, client: own, state, models: [model], rated: new Map() },
    device: { kind: 'simulated', name: 'test' },
  });
  beating.push(heartbeat);
  return { gauges, heartbeat };
}

test('a consumer is in the register once the heart has begun to beat, with what it serves', async () => {
  await ensureGroup(client, toyStream);
  const { heartbeat } = await start('one');
  const [registration, ...others] = await liveConsumers(client);
  assert.deepEqual(others, []);
  const { consumer, state, models, device, memory } = registration ?? {};
  assert.deepEqual([consumer, state, device], ['one', 'ready', { kind: 'simulated', name: 'test' }]);
  assert.deepEqual(models, [{ model: 'toy', version: '3', tasksPerSecond: 0 }]);
  assert.ok((memory?.residentBytes ?? 0) > 1e6);
  const lives = await client.pttl(registerKey('one'));
  assert.ok(lives > 0 && lives <= registrationLifeMs);
  await heartbeat.stop();
});

test('the heart begins to beat where there is no stream and no group yet', async () => {
  const { heartbeat } = await start('one');
  assert.equal((await liveConsumers(client)).length, 1);
  await heartbeat.stop();
});

test('a catalogue that was lost is told again by whoever serves its models', async () => {
  const { heartbeat } = await start('one');
  await client.flushall();
  const catalogue = await until(
    () => readCatalogue(client),
    (models) => models.size === 1,
  );
  assert.equal(catalogue.get('toy')?.version, '3');
  await heartbeat.stop();
});

test('a consumer whose registration was lost registers again by itself', async () => {
  await ensureGroup(client, toyStream);
  const { heartbeat } = await start('one');
  await client.del(registerKey('one'));
  assert.deepEqual(await liveConsumers(client), []);
  await until(
    () => liveConsumers(client),
    (consumers) => consumers.length === 1,
  );
  await heartbeat.stop();
});

test('one that drains says so, and one that has stopped is gone', async () => {
  await ensureGroup(client, toyStream);
  const { heartbeat } = await start('one');
  await heartbeat.drain();
  assert.deepEqual(
    (await liveConsumers(client)).map(({ state }) => state),
    ['draining'],
  );
  await heartbeat.stop();
  assert.deepEqual(await liveConsumers(client), []);
  assert.equal(await client.zscore('sampan:consumers', 'one'), null);
});

/** The rate that the next beat tells. */
async function nextBeat(): Promise<number> {
  const before = await client.zscore('sampan:consumers', 'one');
  const holding = state.holdings.get('toy') ?? assert.fail();
  holding.ranDry = true;
  await until(
    () => client.zscore('sampan:consumers', 'one'),
    (score) => score !== before,
  );
  return (await liveConsumers(client))[0]?.models[0]?.tasksPerSecond ?? 0;
}

test('the rate that is told is what the consumer can do: it rises with what was done, and idling does not lower it', async () => {
  await ensureGroup(client, toyStream);
  const { heartbeat } = await start('one');
  const rate = async () => (await liveConsumers(client))[0]?.models[0]?.tasksPerSecond ?? 0;
  let done = 0;
  const doOneAndAsk = () => {
    (state.holdings.get('toy') ?? assert.fail()).ran = ++done;
    return rate();
  };
  await until(doOneAndAsk, (perSecond) => perSecond > 0);
  // What was done last may still come in; from then on nothing is done.
  const told = [await rate(), await nextBeat(), await nextBeat(), await nextBeat()].map(Math.ceil);
  assert.ok((told.at(-1) ?? 0) >= (told[0] ?? Infinity), told.join());
  await heartbeat.stop();
});

test('the gauges count what waits, what is pending and who serves', async () => {
  await ensureGroup(client, toyStream);
  for (const text of ['a', 'b', 'c']) await enqueueOne(client, enqueueRequest({ image: Buffer.from(text) }));
  await deliver(client, 'one', 1);
  const other = await start('two');
  const { gauges, heartbeat } = await start('one');
  const loads = await until(
    () => gauges.loads,
    ([load]) => load?.liveConsumers === 2,
  );
  assert.deepEqual(loads, [{ model: 'toy', backlog: 3, pending: 1, waiting: 2, liveConsumers: 2 }]);
  await Promise.all([heartbeat.stop(), other.heartbeat.stop()]);
});

test('a heart that cannot reach Redis knows it, and knows when it does again', async () => {
  await ensureGroup(client, toyStream);
  const own = redis.adopt(
    new Redis(redis.url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, retryStrategy: () => 20 }),
  );
  own.on('error', () => undefined);
  await until(
    () => own.status,
    (status) => status === 'ready',
  );
  const { heartbeat } = await start('one', own);
  assert.equal(heartbeat.reachesRedis, true);
  await redis.stop();
  await until(
    () => heartbeat.reachesRedis,
    (reaches) => !reaches,
  );
  await redis.start();
  await ensureGroup(client, toyStream);
  await until(
    () => heartbeat.reachesRedis,
    (reaches) => reaches,
  );
  await heartbeat.stop();
});
