import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createLatch } from '../../backend/model/latch.js';
import { simulatedLabel, simulatedModel } from '../../backend/model/simulated-model.js';
import { partitionKeys } from '../../contracts/keys.js';
import { picture } from '../pictures.js';
import { servedBy, testSystem, until } from './system.js';
import { ask as askEdge, keyOf, serveByNobody } from './tenants.js';

/** Requests whose callers come back for the result. */
const system = await testSystem();
const { stream } = system;
const latch = createLatch();
/** `unread` has a consumer in the register only: its tasks wait. */
const [model, unread] = ['later', 'unread'];
const urls: string[] = [];
let [acme, other] = ['', ''];

before(async () => {
  await system.backend(servedBy(simulatedModel({ latch, manifest: { name: model } })));
  await serveByNobody(stream, unread);
  const auth = { SAMPAN_AUTH: 'on' };
  urls.push((await system.edge(auth)).url, (await system.edge(auth)).url);
  [acme, other] = [await keyOf(stream, 'acme'), await keyOf(stream, 'other')];
});

const ask = (path: string, init: RequestInit = {}, { key = acme, edge = 0 } = {}) =>
  askEdge(`${urls[edge] ?? ''}${path}`, key, init);

const post = (name: string, image: string, headers: Record<string, string> = {}, by = {}) =>
  ask(
    `/v1/models/${name}/predict`,
    { method: 'POST', body: picture(image), headers: { prefer: 'respond-async', ...headers } },
    by,
  );
const waiting = async (location: string | null, by = {}) => ask(location ?? '', { headers: { prefer: 'wait=30' } }, by);

test('a request is accepted once its task is in the stream, and its answer is told by any edge when it is there', async () => {
  latch.hold();
  const accepted = await post(model, 'first');
  assert.equal(accepted.status, 202);
  assert.equal(accepted.headers.get('preference-applied'), 'respond-async');
  const location = accepted.headers.get('location');
  assert.equal(location, `/v1/tasks/${String(accepted.body.id)}`);
  await latch.arrived();
  const pending = await ask(location, {}, { edge: 1 });
  assert.deepEqual([pending.body.state, pending.body.position], ['pending', 1]);
  assert.match(pending.headers.get('retry-after') ?? '', /^\d+$/);
  const polled = [waiting(location), waiting(location, { edge: 1 })];
  latch.release();
  for (const { status, body, headers } of await Promise.all(polled)) {
    assert.deepEqual([status, body.state, body.answer.cache], [200, 'succeeded', 'miss']);
    assert.equal(body.answer.predictions[0].label, simulatedLabel(picture('first')));
    assert.equal(headers.get('preference-applied'), 'wait=30');
  }
  const { result, submission } = partitionKeys(model);
  const id = accepted.body.id as string;
  const [kept, known] = [await stream.pttl(result(id)), await stream.pttl(submission(id))];
  assert.ok(
    // An hour past its deadline, which is ten minutes away.
    known > 3_600_000 && kept >= known,
    `the result is kept ${String(kept)} ms, the submission ${String(known)}`,
  );
});

test('what the cache holds is answered at once, with the answer itself', async () => {
  const key = `sampan:cache:acme:${model}:*`;
  await until(
    () => system.cache.keys(key),
    (found) => found.length > 0,
  );
  const { status, body } = await post(model, 'first');
  assert.deepEqual([status, body.cache], [200, 'hit']);
});

test('waiting tasks tell their place and how long it will take, from counters; no body is read', async () => {
  const ids: string[] = [];
  for (const image of ['one', 'two', 'three']) ids.push((await post(unread, image)).body.id as string);
  // Unreadable entries and images change nothing.
  for (const id of ids) await stream.set(partitionKeys(unread).image(id), 'gone');
  const shown = await Promise.all(ids.map((id) => ask(`/v1/tasks/${id}`)));
  assert.deepEqual(
    shown.map(({ body }) => [body.state, body.position, body.expectedWaitMs]),
    [
      ['waiting', 1, 100],
      ['waiting', 2, 200],
      ['waiting', 3, 300],
    ],
  );
  for (const id of ids) {
    const { status, body } = await ask(`/v1/tasks/${id}`, { method: 'DELETE' });
    assert.deepEqual([status, body.state], [200, 'cancelled']);
  }
  assert.equal(await stream.xlen(partitionKeys(unread).tasks('normal')), 0);
  assert.deepEqual(await stream.hgetall(partitionKeys(unread).load), {});
});

test('a cancelled task leaves once nobody waits for it any more, and what has ended stays as it is', async () => {
  const [first, second] = [await post(unread, 'shared'), await post(unread, 'shared')];
  assert.notEqual(first.body.id, second.body.id);
  const entries = () => stream.xlen(partitionKeys(unread).tasks('normal'));
  for (let again = 0; again < 3; again++) await ask(`/v1/tasks/${String(first.body.id)}`, { method: 'DELETE' });
  assert.equal(await entries(), 1, 'the other caller still waits');
  assert.equal((await ask(`/v1/tasks/${String(second.body.id)}`)).body.state, 'waiting');
  await ask(`/v1/tasks/${String(second.body.id)}`, { method: 'DELETE' });
  assert.equal(await entries(), 0);

  const done = await post(model, 'done before it is cancelled');
  assert.equal((await waiting(done.headers.get('location'))).body.state, 'succeeded');
  const late = await ask(done.headers.get('location') ?? '', { method: 'DELETE' });
  assert.deepEqual([late.status, late.body.state], [200, 'succeeded']);
});

test('a task that has no result by its deadline has expired; one that was lost has failed, and says so', async () => {
  latch.hold();
  const late = await post(model, 'late', { 'x-timeout-ms': '150' });
  const expired = await until(
    () => ask(late.headers.get('location') ?? ''),
    ({ body }) => !['waiting', 'pending'].includes(body.state as string),
  );
  latch.release();
  const id = late.body.id as string;
  await until(
    () => stream.exists(partitionKeys(model).task(id)),
    (exists) => exists === 0,
  );
  const afterTheRun = await ask(`/v1/tasks/${id}`);
  for (const { body } of [expired, afterTheRun]) {
    assert.deepEqual([body.state, body.problem?.code], ['expired', 'deadline_exceeded']);
  }

  const lost = await post(unread, 'lost');
  await stream.del(partitionKeys(unread).task(lost.body.id as string));
  await ask(`/v1/tasks/${String(lost.body.id)}`);
  await stream.hset(partitionKeys(unread).submission(lost.body.id as string), 'deadline', '1');
  const { body } = await ask(`/v1/tasks/${String(lost.body.id)}`);
  assert.deepEqual([body.state, body.problem.code, body.problem.retryable], ['failed', 'task_lost', true]);
  await stream.del(partitionKeys(unread).work, partitionKeys(unread).load, partitionKeys(unread).tasks('normal'));
});

test('under one Idempotency-Key a tenant has one task, whichever edge is asked and however often at once', async () => {
  const key = { 'idempotency-key': 'order-1' };
  const many = await Promise.all(Array.from({ length: 10 }, (_, i) => post(unread, 'once', key, { edge: i % 2 })));
  assert.deepEqual(new Set(many.map(({ status }) => status)), new Set([202]));
  assert.equal(new Set(many.map(({ body }) => body.id as string)).size, 1);
  assert.equal(await stream.xlen(partitionKeys(unread).tasks('normal')), 1);
  const mismatch = await post(unread, 'another picture', key);
  assert.deepEqual([mismatch.status, mismatch.body.code], [422, 'idempotency_mismatch']);
  const stranger = await post(unread, 'once', key, { key: other });
  assert.equal(stranger.status, 202);
  assert.notEqual(stranger.body.id, many[0]?.body.id);
  assert.equal((await post(unread, 'once', { 'idempotency-key': 'a b' })).body.code, 'invalid_header');
});

test('another tenant finds no trace of a task: it cannot be shown, followed or cancelled', async () => {
  const { body } = await post(unread, 'mine');
  const path = `/v1/tasks/${String(body.id)}`;
  const answers = [
    await ask(path, {}, { key: other }),
    await ask(path, { headers: { prefer: 'wait=5' } }, { key: other }),
    await ask(`${path}/events`, {}, { key: other }),
    await ask(path, { method: 'DELETE' }, { key: other }),
    await ask(`/v1/tasks/${unread}.0.${'0'.repeat(36)}`, {}, { key: other }),
    await ask('/v1/tasks/nonsense', {}, { key: other }),
  ];
  for (const answer of answers) assert.deepEqual([answer.status, answer.body.code], [404, 'task_not_found']);
  assert.equal((await ask(path)).body.state, 'waiting');
});

test('events tell every state until the end, each as the task is shown', async () => {
  latch.hold();
  const { headers } = await post(model, 'followed');
  await latch.arrived();
  const events = ask(`${headers.get('location') ?? ''}/events`);
  setTimeout(() => latch.release(), 50);
  const { status, body, headers: told } = await events;
  assert.deepEqual([status, told.get('content-type')], [200, 'text/event-stream']);
  const shown = [...String(body).matchAll(/^event: state\n(?:id: end\n)?data: (.*)$/gm)].map(
    ([, data = '']) => JSON.parse(data) as { state: string; answer?: { id: string } },
  );
  assert.deepEqual(
    shown.map(({ state }) => state),
    ['pending', 'succeeded'],
  );
  assert.equal(shown.at(-1)?.answer?.id, headers.get('location')?.slice('/v1/tasks/'.length));
});
