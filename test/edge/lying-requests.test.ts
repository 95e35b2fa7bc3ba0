import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import sharp from 'sharp';
import { createAccessLog } from '../../edge/access-log.js';
import { recordWriter } from '../../infra/process/logger.js';
import { testRedis } from '../redis.js';
import { bodyOf, edgeUnderTest, serveModels, toyManifest } from './edge-under-test.js';
import { exchange, splitHead } from './raw-http.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
client.disconnect();
const edge = await edgeUnderTest(stream.url);
const predict = '/v1/models/toy/predict';
const red = sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } });
const jpeg = await red.jpeg().toBuffer();

afterEach(async () => assert.equal((await fetch(`${edge.url}/healthz`)).status, 200));

const get = (target: string, more = '') =>
  exchange(edge.url, `GET ${target} HTTP/1.1\r\nhost: x\r\n${more}connection: close\r\n\r\n`).then(splitHead);

for (const [type, status] of [
  ['image/png', 200],
  ['image/nonsense', 200],
  ['IMAGE/JPEG; charset=utf-8', 200],
  ['text/html', 415],
  ['image', 415],
  ['application/json', 400],
] as const) {
  test(`a JPEG that is sent as ${type} is answered with ${status}`, async () => {
    const init = { method: 'POST', body: bodyOf(jpeg), headers: { 'content-type': type } };
    assert.equal((await fetch(`${edge.url}${predict}`, init)).status, status);
  });
}

test('a page that is sent as an image is refused', async () => {
  const init = { method: 'POST', body: '<html><img src="x"></html>', headers: { 'content-type': 'image/jpeg' } };
  const answer = await fetch(`${edge.url}${predict}`, init);
  assert.match(await answer.text(), /"code":"unsupported_image"/);
});

test('a request id that is too long, or would break a log, is replaced by one of ours', async () => {
  for (const id of [
    'x'.repeat(8192),
    'x'.repeat(129),
    'a b',
    'a"b',
    '<script>',
    '\xe4',
    'a\tb',
    '%0d%0aset-cookie:x',
  ]) {
    const { head } = await get('/healthz', `x-request-id: ${id}\r\n`);
    assert.equal(head.status, 200);
    assert.match(
      head.fields.get('x-request-id') ?? '',
      /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}$/,
    );
  }
  const { head } = await get('/healthz', 'x-request-id: one\r\nx-request-id: two\r\n');
  assert.match(head.fields.get('x-request-id') ?? '', /^[0-9a-f-]{36}$/);
});

test('a traceparent that makes no sense starts a new trace', async () => {
  const [trace, span] = ['4'.repeat(32), '5'.repeat(16)];
  const nonsense = [
    ...[`00-${trace}-${span}`, `00-${'0'.repeat(32)}-${span}-01`, `00-${trace}-${'0'.repeat(16)}-01`],
    ...[`ff-${trace}-${span}-01`, `00-${trace.slice(1)}g-${span}-01`, `00-${trace}-${span}-01-more`, 'x'.repeat(8000)],
    ...['00', '', `00-${trace.replace(/4/g, 'A')}-${span}-01`, `00-${trace}-${span}-01\r\ntraceparent: 00`],
  ];
  for (const one of nonsense) {
    const { head } = await get('/healthz', `traceparent: ${one}\r\n`);
    assert.equal(head.status, 200);
    const told = head.fields.get('traceresponse') ?? '';
    assert.match(told, /^00-(?!0{32})[0-9a-f]{32}-[0-9a-f]{16}-0[0-3]$/, one);
    assert.ok(!told.includes(trace), one);
  }
});

const injected = '%0d%0aset-cookie:%20stolen=1%0d%0a%0d%0a%00<b>';

test('line ends that are hidden in a path, a query or a header come out in no header and in no line of the log', async () => {
  const lines: string[] = [];
  const log = pino({ name: 'edge' }, { write: (line: string) => lines.push(line) });
  const accessLog = createAccessLog(recordWriter(log, 'request'), setImmediate);
  const logging = await edgeUnderTest(stream.url, { accessLog: accessLog.log });
  const targets = [
    ...[`/${injected}`, `/v1/models/${injected}`, `/v1/models/${injected}/predict`, `/v1/tasks/${injected}`],
    ...[`/v1/tasks/${injected}/events`, `/v1/models/toy/results/${injected}`, `/healthz?a=${injected}`],
    ...[`/v1/models/toy/results/${'a'.repeat(32)}?sha256=${injected}`, `/v1/models/toy/results/x?${injected}=1`],
  ];
  for (const target of targets) {
    for (const method of ['GET', 'POST', 'OPTIONS', 'HEAD']) {
      const text = `${method} ${target} HTTP/1.1\r\nhost: x\r\nprefer: ${injected}\r\norigin: ${injected}\r\nconnection: close\r\n\r\n`;
      const came = await exchange(logging.url, text);
      const { head, rest } = splitHead(came);
      assert.ok(head.status >= 200 && head.status < 500, came);
      assert.equal(head.fields.has('set-cookie'), false, came);
      // JSON has escapes for them; what else is in a body has none.
      assert.doesNotMatch(rest, /[\r\n\0]/, came);
    }
  }
  accessLog.flush();
  assert.equal(lines.length, targets.length * 4);
  for (const line of lines) {
    assert.doesNotMatch(line, /stolen|.\n.|\r|\0/);
    assert.equal(typeof JSON.parse(line), 'object');
  }
});

test('a long target is answered, and only some of it repeated', async () => {
  const { head, rest } = await get(`/${'a'.repeat(8000)}`);
  assert.equal(head.status, 404);
  assert.ok(rest.length < 1000);
  const query = await get(`/v1/models/toy/results/${'a'.repeat(32)}?${'a'.repeat(8000)}=1`);
  assert.ok(query.head.status === 400 && query.rest.length < 1000, query.rest);
});

test('a target may be a whole URL, of whatever host', async () => {
  const { head, rest } = await get('http://elsewhere.test/healthz');
  assert.deepEqual([head.status, rest], [200, '{"status":"live"}']);
  assert.equal((await get('http://elsewhere.test')).head.status, 404);
});

test('a path that leaves and comes back is the path that it leads to, and what cannot be decoded is not there', async () => {
  assert.equal((await get('/v1/../healthz')).head.status, 200);
  assert.equal((await get('/v1/%2e%2e/healthz')).head.status, 200);
  for (const path of ['/healthz/', '//healthz', '/%zz%ff', '/v1/models/%ff', '/v1%2fmodels']) {
    assert.equal((await get(path)).head.status, 404, path);
  }
});

test('HTTP/1.0 is spoken, with a host or without, and its connections close', async () => {
  for (const host of ['', 'host: x\r\n']) {
    const { head, rest } = splitHead(await exchange(edge.url, `GET /healthz HTTP/1.0\r\n${host}\r\n`));
    assert.deepEqual([head.status, head.fields.get('connection'), rest], [200, 'close', '{"status":"live"}']);
  }
});

test('methods that are known elsewhere are not allowed here', async () => {
  for (const method of ['PURGE', 'TRACE', 'PROPFIND', 'PUT', 'PATCH']) {
    const came = await exchange(edge.url, `${method} /healthz HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`);
    assert.match(came, /^HTTP\/1.1 405 [^]*allow: GET, HEAD, OPTIONS\r\n[^]*"code":"method_not_allowed"/);
  }
});

test('who asks to speak another protocol is answered in this one', async () => {
  const { head } = await get('/healthz', 'connection: upgrade\r\nupgrade: h2c\r\n');
  assert.equal(head.status, 200);
});
