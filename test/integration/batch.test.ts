import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import { createLatch } from '../../backend/model/latch.js';
import { simulatedLabel, simulatedModel } from '../../backend/model/simulated-model.js';
import { partitionKeys } from '../../contracts/keys.js';
import { readUsage } from '../../contracts/usage.js';
import type { RunningEdge } from '../../edge/node-server.js';
import { picture } from '../pictures.js';
import { formOf, linesOf, sendBatch, type BatchItem } from './batches.js';
import { predict, servedBy, testSystem, until } from './system.js';
import { ask, keyOf, serveByNobody } from './tenants.js';

/** Many pictures in one request. */
const system = await testSystem();
const { stream } = system;
const latch = createLatch();
const model = 'many';
/** Said to do 10 tasks a second; its tasks wait. */
const unread = 'unread';
let open: RunningEdge;
let guarded: RunningEdge;

before(async () => {
  const manifest = { name: model, batch: { simulated: { max: 8, maxWaitMs: 0 } } };
  await system.backend(servedBy(simulatedModel({ latch, manifest })));
  await serveByNobody(stream, unread);
  open = await system.edge();
  guarded = await system.edge({ SAMPAN_AUTH: 'on' });
});

const named = (name: string, count: number) => Array.from({ length: count }, (_, i) => picture(`${name}-${String(i)}`));
const lines = { 'content-type': 'application/x-ndjson' };
const asLines = { ...lines, accept: 'application/x-ndjson' };
const labelOf = ({ answer }: BatchItem): unknown => answer?.predictions[0].label;

test('a batch with one corrupt image answers the other nine, in order, each as if it had been sent alone', async () => {
  const images = named('mixed', 10);
  images[4] = Buffer.from('BM, as bitmaps begin');
  const { status, headers, items } = await sendBatch(open.url, model, { body: formOf(images, { top: '1' }) });
  assert.deepEqual([status, headers.get('content-type')], [200, 'application/json']);
  assert.deepEqual(
    items.map(({ index, name, status: own }) => [index, name, own]),
    images.map((_, i) => [i, `picture-${String(i)}.jpg`, i === 4 ? 415 : 200]),
  );
  assert.equal(items[4]?.problem?.code, 'unsupported_image');
  for (const [i, item] of items.entries()) {
    if (i === 4) continue;
    assert.equal(labelOf(item), simulatedLabel(images[i] ?? Buffer.alloc(0)));
    assert.equal(item.answer.predictions.length, 1, 'the parameter of the form holds for all');
  }
  const alone = await predict(open.url, model, images[0] ?? picture(0));
  assert.deepEqual(Object.keys(items[0]?.answer as object), Object.keys(alone.body as object));
});

test('lines are answered as they are done: a hit is told while the picture before it is still with the device', async () => {
  const [slow, known] = [picture('slow'), picture('known')];
  assert.equal((await predict(open.url, model, known)).status, 200);
  await until(
    () => predict(open.url, model, known),
    ({ cache }) => cache === 'hit',
  );
  latch.hold();
  const response = await fetch(`${open.url}/v1/models/${model}/batch`, {
    ...{ method: 'POST', headers: asLines, body: linesOf([slow, known]) },
  });
  assert.deepEqual([response.status, response.headers.get('content-type')], [200, 'application/x-ndjson']);
  assert.ok(response.body);
  const told: BatchItem[] = [];
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    for (const line of chunk.split('\n').filter(Boolean)) told.push(JSON.parse(line) as BatchItem);
    assert.equal(latch.held, told.length === 1);
    latch.release();
  }
  assert.deepEqual(
    told.map(({ index, status, answer }) => [index, status, answer.cache]),
    [
      [1, 200, 'hit'],
      [0, 200, 'miss'],
    ],
  );
});

test('a hundred pictures obey the limit of a run, and equal ones among them are inferred once', async () => {
  const images = [...named('hundred', 50), ...named('hundred', 50)];
  const { items } = await sendBatch(open.url, model, { headers: lines, body: linesOf(images) });
  assert.equal(items.length, 100);
  const made = new Map<string, number>();
  for (const [i, { status, answer }] of items.entries()) {
    assert.equal(status, 200);
    assert.ok(answer.timing.batchSize <= 8, `${String(answer.timing.batchSize)} in one run`);
    assert.equal(answer.predictions[0].label, simulatedLabel(images[i] ?? Buffer.alloc(0)));
    made.set(answer.id as string, (made.get(answer.id as string) ?? 0) + 1);
  }
  assert.deepEqual([...made.values()], Array(50).fill(2));
});

test("a batch takes no more than its tenant's share of the backlog; another tenant is let in; who goes away leaves nothing", async () => {
  const [acme, other] = [await keyOf(stream, 'acme'), await keyOf(stream, 'other')];
  const backlog = () => stream.xlen(partitionKeys(unread).tasks('normal'));
  const gone = new AbortController();
  const sending = sendBatch(guarded.url, unread, {
    ...{
      key: acme,
      headers: { ...lines, 'x-timeout-ms': '60000' },
      body: linesOf(named('share', 100)),
      signal: gone.signal,
    },
  });
  const ended = assert.rejects(sending, { name: 'AbortError' });
  // Two seconds of ten a second are fewer than anybody's 32.
  await until(backlog, (entries) => entries === 32);
  const path = `${guarded.url}/v1/models/${unread}/predict`;
  const body = picture('of another');
  const accepted = await ask(path, other, { method: 'POST', body, headers: { prefer: 'respond-async' } });
  assert.equal(accepted.status, 202);
  assert.equal(await stream.hget(partitionKeys(unread).load, 'count:acme'), '32');
  assert.equal(await backlog(), 33);
  gone.abort();
  await ended;
  await until(backlog, (entries) => entries === 1);
  assert.equal(await stream.hexists(partitionKeys(unread).load, 'count:acme'), 0);
  await ask(`${guarded.url}/v1/tasks/${String(accepted.body.id)}`, other, { method: 'DELETE' });
  assert.equal(await backlog(), 0);
});

test('a batch costs its pictures, and the day that is used up ends it with an item that says so', async () => {
  const key = await keyOf(stream, 'frugal', { limits: { perSecond: 1000, burst: 3, perDay: 8 } });
  const answer = await sendBatch(guarded.url, model, { key, body: formOf(named('paid', 12)) });
  assert.equal(answer.status, 200);
  assert.deepEqual(
    answer.items.map(({ status }) => status),
    [...Array<number>(8).fill(200), 429],
  );
  assert.equal(answer.items.at(-1)?.problem?.code, 'quota_exhausted');
  const refused = await sendBatch(guarded.url, model, { key, body: formOf(named('unpaid', 2)) });
  assert.deepEqual([refused.status, refused.body.code], [429, 'quota_exhausted']);
  const day = new Date().toISOString().slice(0, 10);
  const used = await until(
    async () => (await readUsage(stream, day)).get('frugal'),
    (usage) => (usage?.requests ?? 0) >= 2,
  );
  assert.deepEqual(used, { requests: 2, pictures: 8, hits: 0, failures: 2 });
});

test('a batch over its rate is paced, not refused', async () => {
  const key = await keyOf(stream, 'paced', { limits: { perSecond: 4, burst: 4 } });
  const { items } = await sendBatch(guarded.url, model, { key, body: formOf(named('paced', 8)) });
  assert.deepEqual(
    items.map(({ status }) => status),
    Array(8).fill(200),
  );
});
