import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { request, type IncomingMessage } from 'node:http';
import { test } from 'node:test';
import { gunzipSync } from 'node:zlib';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { negotiateGzip } from '../../edge/compress.js';
import type { Order } from '../../edge/crossing.js';
import { testRedis } from '../redis.js';
import { edgeUnderTest, serveModels, toyManifest } from './edge-under-test.js';

const stream = await testRedis();
const client = new Redis(stream.url);
const labels = (count: number) => Array.from({ length: count }, (_, index) => `label ${index} – ü`);
const wordy = { ...toyManifest, name: 'wordy', labels: labels(500) };
const vast = { ...toyManifest, name: 'vast', labels: labels(50_000) };
await serveModels(client, [toyManifest, wordy, vast]);
client.disconnect();
let predictions = '[]';
const edge = await edgeUnderTest(stream.url, {
  cross: ({ spec: { version } }: Order) => {
    const timing = { queueMs: 1, decodeMs: 2, batchWaitMs: 0, inferMs: 3, batchSize: 1 };
    const result = { outcome: 'succeeded', version, timing, predictions: Buffer.from(predictions) } as const;
    return Promise.resolve({ id: `toy.0.${'0'.repeat(36)}`, cache: 'miss', result } as const);
  },
});
const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .png()
  .toBuffer();

interface Raw {
  readonly headers: IncomingMessage['headers'];
  readonly body: Buffer;
}

/** As it travels: fetch would decompress. */
async function raw(path: string, accepted?: string, method = 'GET', more: Record<string, string> = {}): Promise<Raw> {
  const headers = { ...more, ...(accepted === undefined ? {} : { 'accept-encoding': accepted }) };
  const asking = request(`${edge.url}${path}`, { method, headers });
  asking.end(method === 'POST' ? image : undefined);
  const [answer]: IncomingMessage[] = await once(asking, 'response');
  assert.ok(answer);
  const pieces: Buffer[] = [];
  for await (const piece of answer) pieces.push(piece);
  return { headers: answer.headers, body: Buffer.concat(pieces) };
}

test('a long text is compressed for who takes gzip, and both forms say that they differ', async () => {
  const plain = await raw('/v1/models/wordy');
  const zipped = await raw('/v1/models/wordy', 'br, gzip, deflate');
  assert.equal(plain.headers['content-encoding'], undefined);
  assert.equal(plain.headers['content-length'], String(plain.body.length));
  assert.equal(zipped.headers['content-encoding'], 'gzip');
  assert.ok(zipped.body.length * 2 < plain.body.length, `${zipped.body.length} of ${plain.body.length}`);
  assert.deepEqual(gunzipSync(zipped.body), plain.body);
  for (const { headers } of [plain, zipped]) assert.equal(headers.vary, 'accept-encoding');
});

test('a short text is sent as it is', async () => {
  for (const path of ['/healthz', '/v1/models/none']) {
    const { headers, body } = await raw(path, 'gzip');
    assert.deepEqual([headers['content-encoding'], headers.vary], [undefined, undefined]);
    assert.equal(headers['content-length'], String(body.length));
  }
});

test('predictions are compressed only where they are long', async () => {
  const predict = () => raw('/v1/models/toy/predict', 'gzip', 'POST');
  predictions = JSON.stringify(labels(100));
  const some = await predict();
  assert.ok(some.body.length > 1500);
  assert.deepEqual([some.headers['content-encoding'], some.headers.vary], [undefined, undefined]);
  predictions = JSON.stringify(labels(1000));
  const many = await predict();
  assert.equal(many.headers['content-encoding'], 'gzip');
  assert.deepEqual(JSON.parse(gunzipSync(many.body).toString()).predictions, labels(1000));
});

test('events are never compressed', async () => {
  const path = '/v1/models/toy/predict';
  const { headers } = await raw(path, undefined, 'POST', { prefer: 'respond-async' });
  const asking = request(`${edge.url}${String(headers.location)}/events`, { headers: { 'accept-encoding': 'gzip' } });
  asking.end();
  const [answer]: IncomingMessage[] = await once(asking, 'response');
  assert.equal(answer?.headers['content-encoding'], undefined);
  const [piece] = await once(answer ?? asking, 'data');
  assert.match(String(piece), /^event: state\ndata: \{/);
  asking.on('error', () => undefined);
  asking.destroy();
});

test('who leaves while an answer is compressed disturbs nobody', async () => {
  const asking = request(`${edge.url}/v1/models/vast`, { headers: { 'accept-encoding': 'gzip' } });
  asking.on('error', () => undefined);
  asking.end();
  const [answer]: IncomingMessage[] = await once(asking, 'response');
  answer?.on('error', () => undefined);
  asking.destroy();
  const { body } = await raw('/v1/models/vast', 'gzip');
  assert.equal(JSON.parse(gunzipSync(body).toString()).labels.length, 50_000);
});

for (const [accepted, isGzip] of [
  ...([
    [undefined, false],
    ['', false],
    ['identity', false],
    ['br', false],
    ['gzip', true],
    ['GZIP', true],
  ] as const),
  ...([
    ['x-gzip', true],
    ['*', true],
    ['gzip;q=0', false],
    ['gzip; q=0.000', false],
    ['*;q=0', false],
  ] as const),
  ...([
    ['gzip;q=0, *', false],
    ['gzip;q=0.5', true],
    ['gzip ; Q=0.5', true],
    ['br, gzip;q=0.1', true],
  ] as const),
  ...([
    ['gzip;q=0.5, identity', false],
    ['gzip, identity;q=0.5', true],
    ['identity;q=0, *', true],
  ] as const),
  ...([
    ['gzip;q=2', false],
    ['gzip;q=-1', false],
    ['gzip;q=x', false],
    [',;=,gzip', true],
  ] as const),
] as const) {
  test(`accept-encoding: ${String(accepted)} ${isGzip ? 'means' : 'does not mean'} gzip`, () => {
    const headers: Record<string, string> = { 'content-type': 'application/json' };
    assert.equal(negotiateGzip(accepted, headers), isGzip);
    assert.equal(headers['content-encoding'], isGzip ? 'gzip' : undefined);
  });
}

test('the compressed form shares no strong entity tag with the plain one', () => {
  const tagged = (etag: string, accepted: string) => {
    const headers: Record<string, string> = { 'content-type': 'application/problem+json', etag, vary: 'origin' };
    negotiateGzip(accepted, headers);
    return headers;
  };
  assert.equal(tagged('"a"', 'gzip')['etag'], 'W/"a"');
  assert.equal(tagged('W/"a"', 'gzip')['etag'], 'W/"a"');
  assert.equal(tagged('"a"', 'br')['etag'], '"a"');
  assert.equal(tagged('"a"', 'br')['vary'], 'origin, accept-encoding');
});

test('text is compressed, pages too; what is compressed already, or no text, is not', () => {
  const of = (type: string, more = {}) => negotiateGzip('gzip', { 'content-type': type, ...more });
  for (const type of ['application/json', 'application/problem+json', 'text/html; charset=utf-8']) assert.ok(of(type));
  for (const type of ['image/png', 'application/octet-stream', 'application/jsonb']) assert.equal(of(type), false);
  assert.equal(of('application/json', { 'content-encoding': 'br' }), false);
});
