import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { createConsumerState } from '../../backend/consumer.js';
import { createLeases, isStale, letLeasesGo, renewLeases, type LeaseDeps } from '../../backend/lease.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { startRenewing } from '../../backend/renewing.js';
import { consumerGroup } from '../../contracts/keys.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { holdingProxy } from '../holding-proxy.js';
import { until } from '../integration/system.js';
import { testRedis } from '../redis.js';
import { deliver, enqueueOne, enqueueRequest, toyStream } from '../tasks.js';
import { connectCommands } from '../../infra/process/redis-connection.js';
import { pino } from 'pino';
import { depsOn } from './deliveries.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
let clock = 0;
const deps: LeaseDeps = { client, consumer: 'one', leaseMs: 1000, now: () => clock };
beforeEach(() => client.flushall());

/** Entries that consumer `one` holds, each under a lease that began at 0. */
async function held(count: number) {
  const leases = createLeases();
  for (let i = 0; i < count; i++) await enqueueOne(client, enqueueRequest({ image: Buffer.from(`image ${i}`) }));
  for (const entryId of await deliver(client, 'one', count)) leases.take(toyStream, entryId, 0);
  return leases;
}
const claim = (entryId: string) => client.xclaim(toyStream, consumerGroup, 'two', 0, entryId);
const silentFor = async (entryId: string) => {
  const [row] = (await client.xpending(toyStream, consumerGroup, entryId, entryId, 1)) as [string, string, number][];
  return row?.[2] ?? -1;
};

test('an entry that is delivered twice is held once', () => {
  const leases = createLeases();
  const lease = leases.take(toyStream, '1-1', 0) ?? assert.fail();
  assert.equal(leases.take(toyStream, '1-1', 5), undefined);
  assert.ok(leases.take('another stream', '1-1', 5));
  assert.equal(leases.size, 2);
  leases.end(lease);
  assert.equal(leases.size, 1);
  assert.ok(leases.take(toyStream, '1-1', 9));
});

test('a renewal begins a new term from when it was sent, for all that is still ours', async () => {
  const leases = await held(600);
  const [first, second] = leases.all();
  assert.ok(first && second);
  await claim(second.entryId);
  clock = 700;
  await renewLeases(deps, leases.all());
  assert.deepEqual([first.renewedAt, first.lost], [700, false]);
  assert.deepEqual([second.renewedAt, second.lost], [0, true]);
  assert.equal(leases.all().filter(({ renewedAt }) => renewedAt === 700).length, 599);
});

test('nothing is renewed past the end of its run, nor what was lost before', async () => {
  const leases = await held(2);
  const [hung, lost] = leases.all();
  assert.ok(hung && lost);
  hung.renewUntil = 500;
  lost.lost = true;
  clock = 501;
  await renewLeases(deps, leases.all());
  assert.deepEqual([hung.renewedAt, lost.renewedAt, hung.lost], [0, 0, false]);
});

test('a lease is stale a quarter of it before it ends', async () => {
  const [lease] = (await held(1)).all();
  assert.ok(lease);
  clock = 750;
  assert.equal(isStale(deps, lease), false);
  clock = 751;
  assert.equal(isStale(deps, lease), true);
});

test('what is let go counts as silent for a lease, so that others may claim it at once', async () => {
  const leases = await held(2);
  const [kept, going] = leases.all();
  assert.ok(kept && going);
  await letLeasesGo({ ...deps, leaseMs: 3_600_000 }, [going]);
  assert.ok((await silentFor(going.entryId)) >= 3_600_000);
  assert.ok((await silentFor(kept.entryId)) < 3_600_000);
  assert.deepEqual([going.lost, kept.lost], [true, false]);
});

test('leases are renewed by themselves, and a break in that is remembered as the end of steadiness', async (t) => {
  const proxy = await holdingProxy(redis.port);
  const logger = pino({ level: 'silent' });
  const slow = redis.adopt(defineScripts(connectCommands(proxy.url, { name: 'slow', logger })));
  await until(
    () => slow.status,
    (status) => status === 'ready',
  );
  const model = simulatedModel({ manifest: { name: 'toy' } });
  const state = createConsumerState(depsOn(slow, [model]), new AbortController().signal);
  const [entryId = ''] = (await held(1)).all().map((lease) => lease.entryId);
  const lease = state.leases.take(toyStream, entryId, performance.now()) ?? assert.fail();
  const stop = startRenewing({ client: slow, consumer: 'one', leaseMs: 400, now: () => performance.now() }, state);
  t.after(stop);
  const [begunAt, steadySince] = [lease.renewedAt, state.steadySince];
  await until(
    () => lease.renewedAt,
    (at) => at > begunAt,
  );
  assert.equal(state.steadySince, steadySince);
  proxy.hold();
  const heldAt = performance.now();
  await until(
    () => performance.now() - heldAt,
    (ms) => ms > 600,
  );
  proxy.release();
  await until(
    () => state.steadySince,
    (since) => since > heldAt,
  );
});
