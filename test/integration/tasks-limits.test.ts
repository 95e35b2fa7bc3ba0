import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { partitionKeys } from '../../contracts/keys.js';
import { parseTaskId } from '../../contracts/task.js';
import type { RunningEdge } from '../../edge/node-server.js';
import { picture } from '../pictures.js';
import { testSystem, until } from './system.js';
import { ask as askEdge, keyOf, serveByNobody, type Asked } from './tenants.js';

/** What requests whose callers come back may take up, and how they end with their edge. Nobody does their tasks. */
const system = await testSystem();
const { stream } = system;
/** `quick` is said to do 1000 tasks a second, `slow` 10. */
const [quick, slow] = ['quick', 'slow'];
let edge: RunningEdge;
let [acme, other] = ['', ''];
const env = { SAMPAN_AUTH: 'on', SAMPAN_MAX_FOLLOWERS: '2', SAMPAN_SHARE_MS: '50' };

before(async () => {
  await serveByNobody(stream, quick, 1000);
  await serveByNobody(stream, slow, 10);
  edge = await system.edge(env);
  [acme, other] = [await keyOf(stream, 'acme'), await keyOf(stream, 'other')];
});

const ask = (path: string, init: RequestInit = {}, { key = acme, at = edge } = {}) =>
  askEdge(`${at.url}${path}`, key, init);
const post = (
  model: string,
  image: string,
  headers: Record<string, string> = {},
  by: { key?: string; at?: RunningEdge } = {},
) =>
  ask(
    `/v1/models/${model}/predict`,
    { method: 'POST', body: picture(image), headers: { prefer: 'respond-async', ...headers } },
    by,
  );
const path = ({ headers }: Asked) => headers.get('location') ?? '';
const edgesOf = (id: string) =>
  stream.hget(partitionKeys(parseTaskId(id)?.model ?? '').task(id), 'edges').then((edges) => edges?.split(' ') ?? []);

test('a tenant has its share of the backlog and no more, while others are accepted', async () => {
  const send = (count: number, key: string) =>
    Promise.all(Array.from({ length: count }, (_, i) => post(quick, `${key}-${String(i)}`, {}, { key })));
  const statuses = (answers: readonly Asked[]) => answers.map(({ status }) => status).sort();
  // 50 ms of 1000 tasks a second.
  const mine = await send(53, acme);
  assert.deepEqual(statuses(mine), [...Array<number>(50).fill(202), 503, 503, 503]);
  const refused = mine.filter(({ status }) => status === 503);
  for (const { body, headers } of refused) {
    assert.deepEqual([body.code, body.retryable], ['overloaded', true]);
    assert.match(String(body.detail), /the share of this tenant/);
    assert.equal(headers.get('retry-after'), '1');
  }
  assert.deepEqual(statuses(await send(3, other)), [202, 202, 202]);
  const accepted = mine.find(({ status }) => status === 202);
  assert.ok(accepted);
  await ask(path(accepted), { method: 'DELETE' });
  assert.deepEqual(statuses(await send(1, acme)), [202], 'a place that is free again');
});

test('those who wait for their answers find room where those who come back find none', async () => {
  // 10 tasks a second: 5 s of the usual 10 s, of which four fifths may be spent waiting, are 40 tasks.
  const later = [];
  for (let i = 0; i < 45; i++) later.push(await post(slow, `later-${String(i)}`, {}, { key: i % 2 ? acme : other }));
  assert.deepEqual(
    later.map(({ status }) => status),
    [...Array<number>(41).fill(202), 503, 503, 503, 503],
  );
  assert.equal(later.at(-1)?.body.code, 'overloaded');
  const gone = new AbortController();
  const now = fetch(`${edge.url}/v1/models/${slow}/predict`, {
    ...{ method: 'POST', body: picture('now'), signal: gone.signal, headers: { authorization: `Bearer ${acme}` } },
  });
  const backlog = () => stream.xlen(partitionKeys(slow).tasks('normal'));
  await until(backlog, (entries) => entries === 42);
  gone.abort();
  await assert.rejects(now, { name: 'AbortError' });
  await until(backlog, (entries) => entries === 41);
  await stream.del(...(await stream.keys(`sampan:{${slow}:0}:*`)));
});

test('one who waits for a task is told when another cancels it', async () => {
  const accepted = await post(slow, 'cancelled meanwhile');
  const waited = ask(path(accepted), { headers: { prefer: 'wait=30' } });
  const id = accepted.body.id as string;
  await until(
    () => edgesOf(id),
    (edges) => edges.length > 0,
  );
  await ask(path(accepted), { method: 'DELETE' });
  assert.equal((await waited).body.state, 'cancelled');
});

test('one tenant may follow so many tasks at a time; another is not kept from it', async () => {
  const accepted = await post(slow, 'followed');
  const theirs = await post(slow, 'followed', {}, { key: other });
  const following = [new AbortController(), new AbortController()];
  const followed = following.map(({ signal }) =>
    fetch(`${edge.url}${path(accepted)}/events`, { headers: { authorization: `Bearer ${acme}` }, signal }),
  );
  for (const { status } of await Promise.all(followed)) assert.equal(status, 200);
  for (const more of ['', '/events']) {
    const refused = await ask(`${path(accepted)}${more}`, { headers: { prefer: 'wait=5' } });
    assert.deepEqual([refused.status, refused.body.code], [429, 'too_many_at_once']);
  }
  const stranger = await ask(path(theirs), { headers: { prefer: 'wait=0' } }, { key: other });
  assert.equal(stranger.status, 200);
  for (const one of following) one.abort();
  await until(
    () => ask(path(accepted), { headers: { prefer: 'wait=0' } }),
    ({ status }) => status === 200,
  );
});

test('an edge that stops answers those who wait for tasks, and its event streams end', async () => {
  const stopped = await system.edge(env);
  const accepted = await post(slow, 'outlives an edge', {}, { at: stopped });
  const waited = ask(path(accepted), { headers: { prefer: 'wait=60' } }, { at: stopped });
  const events = await fetch(`${stopped.url}${path(accepted)}/events`, {
    headers: { authorization: `Bearer ${acme}` },
  });
  const told = events.text();
  assert.equal(await stopped.close(), true, 'all was finished in time');
  assert.match(await told, /"state":"waiting"/);
  const answer = await waited;
  assert.deepEqual([answer.status, answer.body.state], [200, 'waiting']);
  assert.match(answer.headers.get('retry-after') ?? '', /^\d+$/);
});

test('a key for some models sees no tasks of others', async () => {
  const accepted = await post(slow, 'of a model');
  const narrow = await keyOf(stream, 'acme', { models: [quick] });
  const refused = await ask(path(accepted), {}, { key: narrow });
  assert.deepEqual([refused.status, refused.body.code], [403, 'model_not_allowed']);
});

test('who does not look after the system sees no traces', async () => {
  for (const traces of ['/v1/traces', '/v1/traces/any']) {
    const refused = await ask(traces);
    assert.deepEqual([refused.status, refused.body.code], [403, 'permission_missing']);
  }
  const operator = await keyOf(stream, 'acme', { permissions: ['ops'] });
  assert.deepEqual((await ask('/v1/traces', {}, { key: operator })).body, { traces: [] });
});

test('an Idempotency-Key is taken for long only once its request was accepted', async () => {
  const keyLife = async (tenant: string) => {
    const [name = ''] = await stream.keys(`sampan:{${slow}:0}:idempotency:${tenant}:*`);
    return stream.pttl(name);
  };
  await stream.hset(partitionKeys(slow).load, 'count', '1000');
  const refused = await post(slow, 'key', { 'idempotency-key': 'one' });
  assert.equal(refused.status, 503);
  assert.ok((await keyLife('acme')) <= 60_000);
  await stream.del(partitionKeys(slow).load);
  assert.equal((await post(slow, 'key', { 'idempotency-key': 'one' })).status, 202);
  assert.ok((await keyLife('acme')) > 3_600_000, 'an hour past ten minutes');
});
