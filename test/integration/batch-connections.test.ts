import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, test } from 'node:test';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { partitionKeys, spendKeys } from '../../contracts/keys.js';
import type { RunningEdge } from '../../edge/node-server.js';
import { scrape } from '../exposition.js';
import { picture } from '../pictures.js';
import { linesOf, sendBatch } from './batches.js';
import { servedBy, testSystem, until } from './system.js';
import { keyOf, serveByNobody } from './tenants.js';

/** Batches that end before their bodies do, or with their edge: their answers arrive, and connections go on or end. */
const system = await testSystem();
const { stream } = system;
const model = 'cut';
const unread = 'unread';
let edge: RunningEdge;

before(async () => {
  await system.backend(servedBy(simulatedModel({ manifest: { name: model } })));
  await serveByNobody(stream, unread);
  edge = await system.edge({ SAMPAN_MAX_BATCH_IMAGES: '5' });
});

const MiB = 1024 * 1024;
const rest = (bytes: number) => `{"x":"${'x'.repeat(bytes)}"}\n`;

/** Writes all of a request, and only then reads, as simple clients do; answers all that came until the connection ended. */
async function writeThenRead(to: RunningEdge, text: string): Promise<string> {
  const socket = connect(Number(new URL(to.url).port), '127.0.0.1');
  await once(socket, 'connect');
  socket.pause();
  await new Promise<void>((resolve, reject) => {
    socket.once('error', reject);
    socket.write(text, () => resolve());
  });
  const chunks: Buffer[] = [];
  for await (const chunk of socket) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const requestOf = (body: string, more: string, to = model) =>
  `POST /v1/models/${to}/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\n${more}content-length: ${String(Buffer.byteLength(body))}\r\n\r\n${body}`;
const close = 'connection: close\r\n';
const asLines = 'accept: application/x-ndjson\r\n';
const health = `GET /healthz HTTP/1.1\r\nhost: x\r\n${close}\r\n`;

for (const [how, more] of Object.entries({ array: '', lines: asLines })) {
  test(`a batch that breaks off is answered as ${how} though megabytes of it are still coming, and the connection goes on`, async () => {
    const body = '{}\n'.repeat(6) + rest(3 * MiB);
    const answer = await writeThenRead(edge, requestOf(body, more) + health);
    assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(answer, /"index":5,"status":413,"problem":\{"type":"\/problems\/body_too_large"/);
    assert.match(answer, /\{"status":"live"\}$/, 'the next request on the connection is answered');
  });

  test(`one whose connection closes with the answer gets it, too, as ${how}`, async () => {
    for (const body of ['{}\n'.repeat(6) + rest(10 * MiB), rest(3 * MiB) + rest(3 * MiB)]) {
      const answer = await writeThenRead(edge, requestOf(body, more + close));
      assert.match(answer, /^HTTP\/1\.1 200 OK\r\n/);
      assert.match(answer, /"index":0,"status":400/);
    }
  });
}

test('who sends nothing but empty lines is told so, soon', async () => {
  const answer = await writeThenRead(edge, requestOf('\n'.repeat(MiB), close));
  assert.match(answer, /^HTTP\/1\.1 413 /);
  assert.match(answer, /"code":"body_too_large"/);
});

test('an edge that stops ends a batch whose next picture is on its way, with an item that says so', async () => {
  const stopped = await system.edge();
  const [first = '', second = ''] = ['known', 'on its way'].map((name) => linesOf([picture(name)]));
  const answers = ['', asLines].map((more) => {
    const socket = connect(Number(new URL(stopped.url).port), '127.0.0.1');
    const told = { text: '', closed: once(socket, 'close') };
    socket.on('data', (chunk: Buffer) => (told.text += chunk.toString()));
    socket.write(requestOf(first + second, more).slice(0, -second.length + 10));
    return told;
  });
  await until(
    () => scrape(stopped.metricsUrl ?? ''),
    (metrics) => metrics.find('cache_lookups_total', { model }).reduce((sum, { value }) => sum + value, 0) >= 2,
  );
  assert.equal(await stopped.close(), true, 'in time');
  for (const told of answers) {
    await told.closed;
    assert.match(told.text, /^HTTP\/1\.1 200 OK\r\n/);
    assert.match(told.text, /"index":0,"status":200/);
    assert.match(told.text, /"index":1,"status":503,"problem":\{"type":"\/problems\/edge_stopping"/);
  }
});

test('an edge that stops ends a batch that waits for its rate', async () => {
  const stopped = await system.edge({ SAMPAN_AUTH: 'on' });
  const key = await keyOf(stream, 'slow', { limits: { perSecond: 0.05, burst: 2 } });
  const images = ['a', 'b', 'c'].map((name) => picture(`rate ${name}`));
  const headers = { 'content-type': 'application/x-ndjson', 'x-timeout-ms': '60000' };
  const sent = sendBatch(stopped.url, model, { key, headers, body: linesOf(images) });
  const account = spendKeys(`key:${key.split('_')[1] ?? ''}`).account;
  await until(
    () => stream.hget(account, 'spent'),
    (spent) => spent === '2',
  );
  assert.equal(await stopped.close(), true, 'in time');
  const { status, items } = await sent;
  assert.equal(status, 200);
  assert.deepEqual(
    items.map(({ problem }) => problem?.code),
    [undefined, undefined, 'edge_stopping'],
  );
});

test("a batch that waits for room asks for it a few times a second, and takes nobody's turn", async () => {
  const busy = await system.edge({ SAMPAN_MAX_TASKS: '2' });
  const place = (name: string) =>
    fetch(`${busy.url}/v1/models/${unread}/predict`, {
      ...{ method: 'POST', body: picture(name), headers: { prefer: 'respond-async' } },
    });
  const first = await place('one place');
  const headers = { 'content-type': 'application/x-ndjson', 'x-timeout-ms': '1500' };
  const sent = sendBatch(busy.url, unread, { headers, body: linesOf([picture('gets one'), picture('waits')]) });
  await until(
    () => stream.hget(partitionKeys(unread).load, 'count'),
    (count) => count === '2',
  );
  // The place that becomes free is taken at once; from then on the batch waits for the last to leave.
  await stream.config('RESETSTAT');
  const { items } = await sent;
  assert.equal(items.length, 2);
  const stats = await stream.info('commandstats');
  const tries = Number(/cmdstat_mset:calls=(\d+)/.exec(stats)?.[1] ?? 0);
  assert.ok(tries > 0 && tries <= 12, `${String(tries)} tries in 1.5 s`);
  assert.equal(await stream.hexists(partitionKeys(unread).load, 'turn'), 0);
  await fetch(`${busy.url}${first.headers.get('location') ?? ''}`, { method: 'DELETE' });
});

test('a batch is paced by its rate exactly, though its pictures have less than a second each', async () => {
  const guarded = await system.edge({ SAMPAN_AUTH: 'on' });
  const key = await keyOf(stream, 'exact', { limits: { perSecond: 50, burst: 1 } });
  const headers = { 'content-type': 'application/x-ndjson', 'x-timeout-ms': '900' };
  const images = Array.from({ length: 20 }, (_, i) => picture(`exact ${String(i)}`));
  const before = performance.now();
  const { items } = await sendBatch(guarded.url, model, { key, headers, body: linesOf(images) });
  assert.deepEqual(
    items.map(({ status }) => status),
    Array(20).fill(200),
  );
  // Nineteen waits of a whole second each would take longer than any machine.
  assert.ok(performance.now() - before < 15_000);
});

test('so many batches may be under way on an edge, and the next one is told to come again', async () => {
  const narrow = await system.edge({ SAMPAN_MAX_BATCHES: '1' });
  const body = linesOf([picture('holds the place')]);
  const headers = { 'content-type': 'application/x-ndjson', 'x-timeout-ms': '60000' };
  const gone = new AbortController();
  const holding = sendBatch(narrow.url, unread, { headers, body, signal: gone.signal }).catch(() => undefined);
  await until(
    () => stream.hget(partitionKeys(unread).load, 'count'),
    (count) => count === '1',
  );
  const refused = await sendBatch(narrow.url, unread, { headers, body });
  assert.deepEqual([refused.status, refused.body.code], [503, 'overloaded']);
  gone.abort();
  await holding;
  await until(
    () => sendBatch(narrow.url, model, { headers, body }),
    ({ status }) => status === 200,
  );
});
