import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { after, test } from 'node:test';
import { createNoopMeter } from '@opentelemetry/api';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { encodeCached } from '../../contracts/cached.js';
import { cacheKey } from '../../contracts/keys.js';
import { Failure } from '../../contracts/failure.js';
import { createCache } from '../../edge/cache.js';
import { createEdgeMetrics } from '../../edge/metrics.js';
import { testRedisPair } from '../redis.js';
import { bodyOf, edgeUnderTest, serveModels, toyManifest } from './edge-under-test.js';
import { exchange, openRaw, splitHead, type Head } from './raw-http.js';

const redis = await testRedisPair();
const client = new Redis(redis.stream.url);
await serveModels(client, [toyManifest, { ...toyManifest, name: 'wordy', description: 'long '.repeat(1000) }]);
client.disconnect();
const [md5, sha256] = ['a'.repeat(32), 'b'.repeat(64)];
const reader = new Redis(redis.cache.url);
after(() => reader.disconnect());
await reader.set(
  cacheKey(`shared:toy:1:minScore=0&top=2:${md5}`),
  encodeCached(sha256, 4_000_000_000, [Buffer.from('{"id":"toy.0.x","cache":"hit","text":"\u00e9"}')]),
);
const metrics = createEdgeMetrics(createNoopMeter());
const clock = { now: () => performance.now() };
const cache = createCache({ reader, timeoutMs: 5000, nextTurn: setImmediate, clock, metrics });
const edge = await edgeUnderTest(redis.stream.url, { cache });
const locked = await edgeUnderTest(redis.stream.url, {
  authenticate: () => {
    throw new Failure('credentials_missing', 'nobody is let in');
  },
});

const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
const accepted = await fetch(`${edge.url}/v1/models/toy/predict`, {
  ...{ method: 'POST', body: bodyOf(image), headers: { prefer: 'respond-async' } },
});
const taskPath = accepted.headers.get('location') ?? '';
const lookupPath = `/v1/models/toy/results/${md5}?sha256=${sha256}`;
const [requestId, trace] = ['one-id', '4'.repeat(32)];
const ask = (method: string, path: string, more = '') =>
  `${method} ${path} HTTP/1.1\r\nhost: x\r\nx-request-id: ${requestId}\r\ntraceparent: 00-${trace}-${'5'.repeat(16)}-00\r\n${more}\r\n`;
const close = 'connection: close\r\n';

/** Every route with its methods. */
const routes = [
  ['/v1/models/toy/predict', 'POST, OPTIONS'],
  ['/v1/models/toy/batch', 'POST, OPTIONS'],
  [lookupPath, 'GET, HEAD, OPTIONS'],
  ['/v1/models/toy', 'GET, HEAD, OPTIONS'],
  ['/v1/models', 'GET, HEAD, OPTIONS'],
  [`${taskPath}/events`, 'GET, HEAD, OPTIONS'],
  [taskPath, 'GET, HEAD, DELETE, OPTIONS'],
  ['/healthz', 'GET, HEAD, OPTIONS'],
  ['/readyz', 'GET, HEAD, OPTIONS'],
] as const;

for (const [path, allow] of routes) {
  test(`OPTIONS ${path} tells its methods to everybody, credentials or not`, async () => {
    for (const { url } of [edge, locked]) {
      const { head, rest } = splitHead(await exchange(url, ask('OPTIONS', path, close)));
      assert.deepEqual([head.status, head.fields.get('allow'), rest], [204, allow, '']);
      assert.equal(head.fields.has('content-length') || head.fields.has('transfer-encoding'), false);
    }
  });
}

test('OPTIONS of what does not exist is a problem', async () => {
  const answer = await fetch(`${edge.url}/v3`, { method: 'OPTIONS' });
  assert.deepEqual([answer.status, answer.headers.has('allow')], [404, false]);
  assert.match(await answer.text(), /"code":"route_not_found"/);
});

test('OPTIONS * is answered, and the edge goes on', async () => {
  const { head, rest } = splitHead(await exchange(edge.url, ask('OPTIONS', '*', close)));
  assert.deepEqual([head.status, head.fields.get('content-type')], [400, 'application/problem+json']);
  assert.match(rest, /"code":"malformed_request"/);
  assert.equal((await fetch(`${edge.url}/healthz`)).status, 200);
});

/** The first head that comes, whatever follows it. */
async function firstHead(text: string): Promise<Head> {
  const socket = await openRaw(edge.url);
  socket.write(text);
  let came = '';
  for await (const piece of socket) {
    came += String(piece);
    if (came.includes('\r\n\r\n')) return splitHead(came).head;
  }
  throw new Error(`closed after: ${came}`);
}

const got = [
  ...routes.filter(([, allow]) => allow.startsWith('GET')).map(([path]) => path),
  ...[
    '/v1/models/none',
    '/v1/models/wordy',
    `/v1/models/toy/results/${md5}`,
    '/v1/tasks/x',
    '/v1/tasks/x/events',
    '/v3',
  ],
];
/** What differs from answer to answer, or tells how a body is written that HEAD does not have. */
const passing = ['date', 'transfer-encoding', 'traceresponse', 'server-timing'];

for (const path of got) {
  test(`HEAD ${path} is GET without a byte of its body, and the connection serves the next request`, async () => {
    const zipped = 'accept-encoding: gzip\r\n';
    for (const more of ['', zipped]) {
      const get = await firstHead(ask('GET', path, more));
      const came = splitHead(await exchange(edge.url, ask('HEAD', path, more) + ask('GET', '/healthz', close)));
      assert.match(came.rest, /^HTTP\/1\.1 200 OK\r\n[^]*\{"status":"live"\}$/);
      const comparable = ({ status, fields }: Head) => {
        const lasting = [...fields].filter(([name]) => !passing.includes(name) && !isOfWaitingTask(path, name));
        return [status, Object.fromEntries(lasting)];
      };
      assert.deepEqual(comparable(came.head), comparable(get));
    }
  });
}

/** A view of a task that waits tells of times. */
function isOfWaitingTask(path: string, name: string): boolean {
  return path === taskPath && ['content-length', 'retry-after'].includes(name);
}

test('HEAD of what is sent compressed says so, and HEAD of what is not tells the length', async () => {
  const head = (more: string) => firstHead(ask('HEAD', '/v1/models/wordy', more));
  const plain = await head('');
  assert.deepEqual([plain.fields.get('vary'), plain.fields.get('content-encoding')], ['accept-encoding', undefined]);
  assert.ok(Number(plain.fields.get('content-length')) > 5000);
  const zipped = await head('accept-encoding: gzip\r\n');
  assert.deepEqual([zipped.fields.get('content-encoding'), zipped.fields.get('content-length')], ['gzip', undefined]);
  const counted = await firstHead(ask('HEAD', lookupPath));
  assert.equal(
    counted.fields.get('content-length'),
    String(Buffer.byteLength('{"id":"toy.0.x","cache":"hit","text":"é"}')),
  );
});

test('every answer carries its request’s id and trace', async () => {
  const wanted = [
    ...routes.flatMap(([path, allow]) => allow.split(', ').map((method) => [method, path] as const)),
    ...([
      ['PUT', '/healthz'],
      ['GET', '/v3'],
      ['OPTIONS', '/v3'],
      ['GET', '/v1/models/none'],
    ] as const),
  ].filter(([method]) => method !== 'DELETE');
  for (const [method, path] of wanted) {
    const { status, fields } = await firstHead(ask(method, path));
    assert.equal(fields.get('x-request-id'), requestId, `${method} ${path} ${String(status)}`);
    assert.match(fields.get('traceresponse') ?? '', new RegExp(`^00-${trace}-[0-9a-f]{16}-00$`), `${method} ${path}`);
  }
  const unchanged = await firstHead(ask('GET', lookupPath, 'if-none-match: *\r\n'));
  assert.deepEqual([unchanged.status, unchanged.fields.get('x-request-id')], [304, requestId]);
});
