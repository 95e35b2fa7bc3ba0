import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import type { Socket } from 'node:net';
import { afterEach, test } from 'node:test';
import { Redis } from 'ioredis';
import { failures, type FailureCode } from '../../contracts/failure.js';
import { testRedis } from '../redis.js';
import { edgeUnderTest, eventually, serveModels, toyManifest } from './edge-under-test.js';
import { exchange, openRaw, readAll, splitHead } from './raw-http.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
client.disconnect();
let mayCross = Promise.resolve();
const edge = await edgeUnderTest(stream.url, {
  cross: async ({ spec: { version } }) => {
    await mayCross;
    const timing = { queueMs: 1, decodeMs: 2, batchWaitMs: 0, inferMs: 3, batchSize: 1 };
    const result = { outcome: 'succeeded', version, timing, predictions: Buffer.from('[]') } as const;
    return { id: `toy.0.${'0'.repeat(36)}`, cache: 'miss', result };
  },
});
const predict = '/v1/models/toy/predict';

// Whatever was sent, the next connection finds the edge as it was.
afterEach(async () => assert.equal((await fetch(`${edge.url}/healthz`)).status, 200));

/** What came must be one bare problem of this code, and the end of the connection. */
function assertRefused(came: string, code: FailureCode): void {
  const { head, rest } = splitHead(came);
  const { status, message: title, retryable } = failures[code];
  assert.equal(head.status, status, came);
  assert.equal(head.fields.get('content-type'), 'application/problem+json');
  assert.equal(head.fields.get('content-length'), String(Buffer.byteLength(rest)));
  assert.equal(head.fields.get('connection'), 'close');
  assert.ok(Math.abs(Date.parse(head.fields.get('date') ?? '') - Date.now()) < 60_000);
  const { detail, ...problem } = JSON.parse(rest) as Record<string, unknown>;
  assert.deepEqual(problem, { type: `/problems/${code}`, title, status, code, retryable });
  assert.ok(typeof detail === 'string' && detail.length > 0);
}

const post = (headers: string, body: string) => `POST ${predict} HTTP/1.1\r\nhost: x\r\n${headers}\r\n\r\n${body}`;
const get = (path: string, headers = '') => `GET ${path} HTTP/1.1\r\nhost: x\r\n${headers}\r\n`;
const chunked = 'transfer-encoding: chunked';

const refused: readonly [what: string, text: string, code?: FailureCode][] = [
  ['two lengths that differ', post('content-length: 2\r\ncontent-length: 3', 'abc')],
  ['a length and chunks', post(`content-length: 3\r\n${chunked}`, '3\r\nabc\r\n0\r\n\r\n')],
  ['chunks and a length', post(`${chunked}\r\ncontent-length: 3`, '3\r\nabc\r\n0\r\n\r\n')],
  ['a negative length', post('content-length: -3', 'abc')],
  ['a length that is no number', post('content-length: 0x3', 'abc')],
  ['two lengths in one field', post('content-length: 3, 3', 'abc')],
  ['a length beyond all numbers', post(`content-length: ${'9'.repeat(30)}`, 'abc')],
  ['a chunk whose size is no number', post(chunked, 'zz\r\nabc\r\n')],
  ['a chunk of a size beyond all numbers', post(chunked, `${'f'.repeat(17)}\r\nabc`)],
  ['a chunk longer than it said', post(chunked, '3\r\nabcdef\r\n0\r\n\r\n')],
  ['chunks with endless extensions', post(chunked, `3;${'a'.repeat(20_000)}\r\nabc\r\n0\r\n\r\n`), 'body_too_large'],
  ['a coding of the transfer that ends in no chunks', post('transfer-encoding: chunked, gzip', 'abc')],
  ['a NUL in a header', get('/healthz', 'x-a: a\0b\r\n')],
  ['a CR in a header', get('/healthz', 'x-a: a\rb\r\n')],
  ['a bare LF behind a header', get('/healthz', 'x-a: a\nx-b: b\r\n')],
  ['a folded header', get('/healthz', 'x-a: a\r\n b\r\n')],
  ['a space before a colon', get('/healthz', 'x-a : a\r\n')],
  ['a NUL in the target', get('/healthz\0')],
  ['a CR in the target', get('/healthz\rx')],
  ['an LF in the target', get('/healthz\nx')],
  ['a byte beyond ASCII in the target', get('/healthz\xff')],
  ['three thousand headers', get('/healthz', 'x-flood: 1234\r\n'.repeat(3000)), 'headers_too_large'],
  ['one header of 16 kB', get('/healthz', `x-a: ${'a'.repeat(16 * 1024)}\r\n`), 'headers_too_large'],
  ['a target of 16 kB', get(`/${'a'.repeat(16 * 1024)}`), 'headers_too_large'],
  ['a method that nobody knows', 'BREW /healthz HTTP/1.1\r\nhost: x\r\n\r\n'],
  ['a version that nobody speaks', 'GET /healthz HTTP/9.9\r\nhost: x\r\n\r\n'],
  ['the preface of HTTP/2', 'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n'],
  ['a TLS handshake', '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'],
];

for (const [what, text, code = 'malformed_request'] of refused) {
  test(`${what}: ${code} as a problem, and the connection closes`, async () => {
    assertRefused(await exchange(edge.url, text), code);
  });
}

test('a client that writes 20 MB of headers before it reads gets its 431', async () => {
  const socket = await openRaw(edge.url);
  socket.pause();
  socket.write(get('/healthz', `x-flood: ${'a'.repeat(1000)}\r\n`.repeat(20_000)), () => socket.resume());
  assertRefused(await readAll(socket), 'headers_too_large');
});

test('a client that was refused and goes on sending is cut off', async () => {
  const socket = await openRaw(edge.url);
  const more = () => {
    if (!socket.destroyed) socket.write('x'.repeat(1000), () => setImmediate(more));
  };
  more();
  assertRefused(await readAll(socket), 'malformed_request');
});

test('a body shorter than its length is answered where its client waits for that', async () => {
  const socket = await openRaw(edge.url);
  socket.end(post('content-length: 10', 'abc'));
  assertRefused(await readAll(socket), 'malformed_request');
});

test('what follows a body that is longer than its length is no request', async () => {
  const socket = await openRaw(edge.url);
  socket.write(post('content-length: 3', 'abc'));
  const first = once(socket, 'data').then(([piece]) => String(piece));
  const { head } = splitHead(await first);
  assert.deepEqual([head.status, head.fields.get('connection')], [415, 'keep-alive']);
  socket.write('def\r\n\r\n');
  assertRefused(await readAll(socket), 'malformed_request');
});

/** A connection as the edge sees it, and as its client does. */
async function bothEnds(): Promise<{ ours: Socket; theirs: Socket }> {
  const arrived = once(edge.server, 'connection');
  const theirs = await openRaw(edge.url);
  const [ours]: Socket[] = await arrived;
  assert.ok(ours);
  return { ours, theirs };
}

test('a request that does not end in time is told so', async () => {
  const { ours, theirs } = await bothEnds();
  theirs.write('GET /healthz HTTP/1.1\r\nhost: x\r\n');
  // What Node tells of such a connection when it looks after them, twice a minute.
  edge.server.emit('clientError', Object.assign(new Error(), { code: 'ERR_HTTP_REQUEST_TIMEOUT' }), ours);
  assertRefused(await readAll(theirs), 'request_timeout');
});

test('nothing is written into an answer that is under way', async () => {
  const asked = await fetch(`${edge.url}${predict}`, {
    ...{ method: 'POST', headers: { prefer: 'respond-async' }, body: Buffer.from('GIF89a\x01\x00\x01\x00', 'latin1') },
  });
  const { theirs } = await bothEnds();
  theirs.write(get(`${String(asked.headers.get('location'))}/events`));
  let came = '';
  theirs.on('data', (piece: Buffer) => (came += String(piece)));
  await eventually(() => came.includes('event: state'), 'the events have begun');
  theirs.write('\0\0nonsense');
  await once(theirs, 'close');
  assert.equal(came.split('HTTP/1.1 ').length, 2, came);
});

test('nonsense behind a request that is being worked on ends the connection, and its work is logged', async () => {
  let go: () => void = () => undefined;
  mayCross = new Promise((resolve) => (go = resolve));
  const socket = await openRaw(edge.url);
  const gif = 'GIF89a\x01\x00\x01\x00';
  socket.write(Buffer.from(post(`x-request-id: behind\r\ncontent-length: ${gif.length}`, gif), 'latin1'));
  socket.write('\0nonsense');
  assertRefused(await readAll(socket), 'malformed_request');
  go();
  await eventually(() => edge.records.some(({ requestId }) => requestId === 'behind'), 'it is logged');
});

for (const [what, text] of [
  ['without a host', 'GET /healthz HTTP/1.1\r\n\r\n'],
  ['that expects what nobody does', post('expect: tea\r\nconnection: close', '')],
  ['to connect elsewhere', 'CONNECT elsewhere.test:443 HTTP/1.1\r\nhost: x\r\n\r\n'],
] as const) {
  test(`a request ${what} is refused by Node itself, and nothing is shown`, async () => {
    assert.match(await exchange(edge.url, text), /^(HTTP\/1.1 4\d\d [A-Za-z ]+\r\n[^]*\r\n\r\n(0\r\n\r\n)?)?$/);
  });
}

for (const [what, target] of [
  ['*', '*'],
  ['nonsense', 'healthz'],
  ['a URL that is none', 'http://['],
  ['a URL of another protocol', 'ftp://x/healthz'],
  ['a backslash', '/a\\b'],
] as const) {
  test(`a target that is ${what} is refused as a problem`, async () => {
    const { head, rest } = splitHead(
      await exchange(edge.url, `GET ${target} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`),
    );
    assert.deepEqual([head.status, head.fields.get('content-type')], [400, 'application/problem+json']);
    assert.match(rest, /"code":"malformed_request"/);
  });
}

test('a host that is none is refused as a problem', async () => {
  const came = await exchange(edge.url, 'GET /healthz HTTP/1.1\r\nhost: a/b@c\r\nconnection: close\r\n\r\n');
  assert.match(came, /^HTTP\/1.1 400 [^]*"code":"malformed_request"/);
});
