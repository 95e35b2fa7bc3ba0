import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { acceptEntry } from '../../backend/accept.js';
import type { ConsumerDeps } from '../../backend/consumer.js';
import type { Model } from '../../backend/model/model.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { readNew, ensureGroup, type RawEntry } from '../../backend/reader.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { encodeEntry } from '../../contracts/entry.js';
import { newTaskId } from '../../contracts/task.js';
import { until } from '../integration/system.js';
import { seededRandom } from '../random.js';
import { testRedis } from '../redis.js';
import { enqueueOne, enqueueRequest, pending, toyStream, specOf } from '../tasks.js';
import { depsOn, leaseOf } from './deliveries.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const model = simulatedModel({ manifest: { name: 'toy' } });
const newer = simulatedModel({ manifest: { name: 'toy', version: '2' } });
const deps = depsOn(client, [model]);
beforeEach(async () => {
  await client.flushall();
  await ensureGroup(client, toyStream);
});

const acceptRead = (own: ConsumerDeps, held: Model, entry: RawEntry) =>
  acceptEntry(own, held, { lane: 'normal', lease: leaseOf(entry.entryId), claimed: false }, entry);

async function readOne(): Promise<RawEntry> {
  const [entry] = await readNew(client, 'one', [toyStream], 1);
  assert.ok(entry);
  return entry;
}

test('an entry of an edge becomes a task, with its deadline in the clock of Redis', async () => {
  const request = enqueueRequest({ timeLeftMs: 12_000 });
  const enqueued = await enqueueOne(client, request);
  const entry = await readOne();
  const accepted = acceptRead(deps, model, entry);
  assert.ok(accepted.ok);
  const { delivery, spec, deadline } = accepted.task;
  assert.deepEqual(spec, request.spec);
  assert.equal(deadline, enqueued.how === 'admitted' && enqueued.deadline);
  assert.deepEqual(
    [delivery.taskId, delivery.entryId, delivery.bytes],
    [request.id, entry.entryId, request.image.length],
  );
  assert.ok(delivery.queueMs >= 0 && delivery.queueMs < 600_000);
});

test('a task of another version of the model is refused, so that it comes back as such', async () => {
  const request = enqueueRequest();
  await enqueueOne(client, request);
  const accepted = acceptRead(deps, newer, await readOne());
  assert.ok(!accepted.ok);
  const { result, reason, delivery } = accepted.outcome ?? {};
  assert.deepEqual([result?.outcome === 'failed' && result.code, reason], ['model_version_gone', 'failed']);
  assert.equal(delivery?.taskId, request.id);
});

test('an entry that cannot be read but names its task fails that task', async () => {
  const id = newTaskId('toy');
  await client.xadd(toyStream, '*', 'task', JSON.stringify({ v: 9, id, what: 'is this' }));
  const accepted = acceptRead(deps, model, await readOne());
  assert.ok(!accepted.ok);
  const { result, delivery } = accepted.outcome ?? {};
  assert.deepEqual([result?.outcome === 'failed' && result.code, delivery?.taskId], ['task_unreadable', id]);
});

test('an entry that names no task is discarded, so that it does not come back for ever', async () => {
  await client.xadd(toyStream, '*', 'what', 'ever');
  const accepted = acceptRead(deps, model, await readOne());
  assert.deepEqual(accepted, { ok: false, outcome: undefined });
  await until(
    () => client.xlen(toyStream),
    (entries) => entries === 0,
  );
  assert.deepEqual(await pending(client), []);
});

test('whatever stands in an entry, nothing is thrown', () => {
  const random = seededRandom(15);
  const whole = JSON.parse(
    encodeEntry({ taskId: newTaskId('toy'), spec: specOf(), timeLeftMs: 1000, traceparent: '' }),
  ) as Record<string, unknown>;
  const odd: readonly unknown[] = [undefined, null, 1, -1, '', 'x', [], {}, { v: 1 }, '00-zz', 1e300];
  for (let i = 0; i < 500; i++) {
    const change = { [random.pick([...Object.keys(whole), 'more'])]: random.pick(odd.slice(1)) };
    const text = random.int(3) === 0 ? random.bytes(20).toString('latin1') : JSON.stringify({ ...whole, ...change });
    const fields = ['task', text];
    const accepted = acceptRead(deps, model, { stream: toyStream, entryId: `${i + 1}-1`, fields });
    if (accepted.ok) assert.match(Object.keys(change).join(), /^(v|trace|timeLeftMs)$/, text);
  }
});

test('a task of another model that strayed into the stream is refused', () => {
  const spec = specOf({ model: 'other' });
  const text = encodeEntry({ taskId: newTaskId('other'), spec, timeLeftMs: 1000, traceparent: '' });
  const accepted = acceptRead(deps, model, { stream: toyStream, entryId: '1-1', fields: ['task', text] });
  assert.ok(!accepted.ok);
  assert.equal(accepted.outcome?.result.outcome === 'failed' && accepted.outcome.result.code, 'task_unreadable');
});
