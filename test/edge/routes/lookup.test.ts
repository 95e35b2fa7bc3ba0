import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { createNoopMeter } from '@opentelemetry/api';
import { Redis } from 'ioredis';
import { encodeCached } from '../../../contracts/cached.js';
import { cacheKey } from '../../../contracts/keys.js';
import { createCache } from '../../../edge/cache.js';
import { digestsOf } from '../../../edge/digest.js';
import { createEdgeMetrics } from '../../../edge/metrics.js';
import { testRedisPair } from '../../redis.js';
import { bodyOf, edgeUnderTest, recordingCross, serveModels, testConfig, toyManifest } from '../edge-under-test.js';

const fixture = (name: string) => readFile(join(process.cwd(), 'test', 'fixtures', name));
const redis = await testRedisPair();
const stream = new Redis(redis.stream.url);
const stored = new Redis(redis.cache.url);
stored.on('error', () => undefined);
await serveModels(stream, [toyManifest]);
stream.disconnect();

const metrics = createEdgeMetrics(createNoopMeter());
const clock = { now: () => performance.now() };
const cache = createCache({ reader: stored, timeoutMs: 1000, nextTurn: setImmediate, clock, metrics });
const cross = recordingCross();
const edge = await edgeUnderTest(redis.stream.url, { cache, cross });
const trusting = await edgeUnderTest(redis.stream.url, {
  cache,
  config: testConfig({ SAMPAN_LOOKUP_MD5_ONLY: 'true' }),
});

const twinA = await fixture('same-md5-a.jpg');
const twinB = await fixture('same-md5-b.jpg');
const a = digestsOf(twinA);
const b = digestsOf(twinB);
const answerA = Buffer.from('{"id":"of-a","cache":"hit","bytes":"\u00e9"}');

before(async () => {
  await stored.set(
    cacheKey(`shared:toy:1:minScore=0&top=2:${a.md5}`),
    encodeCached(a.sha256, 2_000_000_000, [answerA]),
  );
});

const lookupUrl = (md5: string, query: string) => `${edge.url}/v1/models/toy/results/${md5}${query}`;
const predict = (image: Buffer, query = '') =>
  fetch(`${edge.url}/v1/models/toy/predict${query}`, { method: 'POST', body: bodyOf(image) });

test('the two files are what they are for: equal MD5, different SHA-256', () => {
  assert.equal(a.md5, b.md5);
  assert.notEqual(a.sha256, b.sha256);
});

test('a hit is answered with the very bytes that are stored, and nothing crosses', async () => {
  cross.orders.length = 0;
  const answer = await predict(twinA);
  assert.deepEqual(Buffer.from(await answer.arrayBuffer()), answerA);
  assert.equal(answer.headers.get('x-cache'), 'hit');
  assert.equal(answer.headers.get('content-length'), String(answerA.length));
  assert.equal(cross.orders.length, 0);
});

test('a file of the same MD5 is not answered for its twin, and other parameters are other work', async () => {
  cross.orders.length = 0;
  assert.equal((await predict(twinB)).headers.get('x-cache'), 'miss');
  assert.equal((await predict(twinA, '?top=1')).headers.get('x-cache'), 'miss');
  assert.deepEqual(
    cross.orders.map(({ spec }) => spec.sha256),
    [b.sha256, a.sha256],
  );
});

test('a lookup gives the stored bytes to who knows the SHA-256, and never those of the twin', async () => {
  const found = await fetch(lookupUrl(a.md5, `?sha256=${a.sha256}`));
  assert.deepEqual(Buffer.from(await found.arrayBuffer()), answerA);
  assert.equal(found.headers.get('x-cache'), 'hit');
  assert.equal((await fetch(lookupUrl(b.md5, `?sha256=${b.sha256}`))).status, 404);
  assert.equal((await fetch(lookupUrl(a.md5, `?sha256=${a.sha256}&top=1`))).status, 404);
  assert.equal((await fetch(lookupUrl(a.md5, `?sha256=${a.sha256}&top=2&minScore=0`))).status, 200);
  assert.equal((await fetch(lookupUrl(a.md5, `?sha256=${a.sha256}&colour=1`))).status, 400);
});

test('an MD5 alone is enough only where the operator says so', async () => {
  assert.equal((await fetch(lookupUrl(a.md5, ''))).status, 400);
  assert.equal((await fetch(`${trusting.url}/v1/models/toy/results/${a.md5}`)).status, 200);
  const twin = await fetch(`${trusting.url}/v1/models/toy/results/${b.md5}?sha256=${b.sha256}`);
  assert.equal(twin.status, 404);
});

test('who has the answer already is told so by its entity tag', async () => {
  const url = lookupUrl(a.md5, `?sha256=${a.sha256}`);
  const { headers } = await fetch(url);
  assert.match(headers.get('server-timing') ?? '', /^cache;dur=\d+\.\d\d$/);
  const etag = headers.get('etag') ?? '';
  assert.match(etag, /^W\/"[\w.-]+"$/);
  for (const tag of [etag, etag.slice(2), `"other", ${etag}`, '*']) {
    const answer = await fetch(url, { headers: { 'if-none-match': tag } });
    assert.deepEqual([answer.status, answer.headers.get('etag'), await answer.text()], [304, etag, ''], tag);
  }
  assert.equal((await fetch(url, { headers: { 'if-none-match': '"other"' } })).status, 200);
  const head = await fetch(url, { method: 'HEAD' });
  assert.deepEqual([head.status, head.headers.get('etag')], [200, etag]);
});

test('a stored value that is none of ours counts as none', async () => {
  await stored.set(cacheKey(`shared:toy:1:minScore=0&top=1:${a.md5}`), 'short');
  assert.equal((await fetch(lookupUrl(a.md5, `?sha256=${a.sha256}&top=1`))).status, 404);
});

test('the cache goes away: the same request is a miss and is answered', async () => {
  await redis.cache.stop();
  const answer = await predict(twinA);
  assert.deepEqual([answer.status, answer.headers.get('x-cache')], [200, 'miss']);
  stored.disconnect();
});
