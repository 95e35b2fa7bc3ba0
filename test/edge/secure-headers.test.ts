import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { addSecureHeaders } from '../../edge/secure-headers.js';
import { testRedis } from '../redis.js';
import { bodyOf, edgeUnderTest, serveModels, toyManifest } from './edge-under-test.js';
import { exchange, splitHead, type Head } from './raw-http.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
client.disconnect();
const edge = await edgeUnderTest(stream.url);
const broken = () => {
  throw new Error('broken');
};
const early = await edgeUnderTest(stream.url, { clock: { now: broken, sinceEpoch: broken } });
const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
const predict = await fetch(`${edge.url}/v1/models/toy/predict`, {
  ...{ method: 'POST', body: bodyOf(image), headers: { prefer: 'respond-async' } },
});
const task = predict.headers.get('location') ?? '';
const of = async (text: string, url = edge.url): Promise<Head> => splitHead(await exchange(url, text)).head;
const ask = (method: string, path: string) => `${method} ${path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n`;

const answers: readonly [what: string, text: string, status: number, url?: string][] = [
  ['an answer', ask('GET', '/v1/models'), 200],
  ['a task', ask('GET', task), 200],
  ['HEAD of events', ask('HEAD', `${task}/events`), 200],
  ['OPTIONS', ask('OPTIONS', '/v1/models'), 204],
  ['a problem', ask('GET', '/v1/models/none'), 404],
  ['a path that is not there', ask('GET', '/v3'), 404],
  ['a method that is not allowed', ask('PUT', '/healthz'), 405],
  ['a problem before there is an id', ask('GET', '/healthz'), 500, early.url],
  ['a target that is no URL', ask('GET', 'nonsense'), 400],
  ['what is no HTTP', 'nonsense\r\n\r\n', 400],
  ['too many headers', ask('GET', `/${'x'.repeat(20_000)}`), 431],
];

for (const [what, text, status, url] of answers) {
  test(`${what} is not stored, not guessed at, shown nowhere, and tells of no software`, async () => {
    const { fields, ...head } = await of(text, url);
    assert.equal(head.status, status);
    assert.equal(fields.get('x-content-type-options'), 'nosniff');
    assert.equal(fields.get('content-security-policy'), "default-src 'none'; frame-ancestors 'none'");
    assert.equal(fields.get('referrer-policy'), 'no-referrer');
    assert.equal(fields.get('cross-origin-resource-policy'), 'same-origin');
    assert.equal(fields.get('cache-control'), 'no-store');
    for (const name of ['server', 'x-powered-by', 'via']) assert.equal(fields.has(name), false, name);
  });
}

test('an answer that brings a policy of its own, or says how long it may be kept, keeps that', () => {
  const headers: Record<string, string> = {
    'content-security-policy': "default-src 'self'",
    'cache-control': 'private, max-age=60',
  };
  addSecureHeaders(headers);
  assert.equal(headers['content-security-policy'], "default-src 'self'");
  assert.equal(headers['cache-control'], 'private, max-age=60');
  assert.equal(headers['x-content-type-options'], 'nosniff');
});
