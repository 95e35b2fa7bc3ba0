import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { Failure } from '../../contracts/failure.js';
import { testRedis } from '../redis.js';
import { bodyOf, edgeUnderTest, serveModels, testConfig, toyManifest } from './edge-under-test.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
client.disconnect();
const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
const configured = (origins: string) => ({ config: testConfig({ SAMPAN_CORS_ORIGINS: origins }) });
const silent = await edgeUnderTest(stream.url);
const listing = await edgeUnderTest(stream.url, configured('https://app.test, http://localhost:3000'));
const open = await edgeUnderTest(stream.url, configured('*'));
const locked = await edgeUnderTest(stream.url, {
  ...configured('https://app.test'),
  authenticate: () => {
    throw new Failure('credentials_missing', 'nobody is let in');
  },
});

const predictPath = '/v1/models/toy/predict';
const preflight = { 'access-control-request-method': 'POST', 'access-control-request-headers': 'x-api-key' };
const post = (headers: Record<string, string>) => ({ method: 'POST', body: bodyOf(image), headers });

/** What an answer says to browsers about other origins. */
function corsOf({ headers }: Response): Record<string, string> {
  return Object.fromEntries([...headers].filter(([name]) => name.startsWith('access-control-') || name === 'vary'));
}

/** A real answer, a problem, one without a route, a preflight, and a stream that is left at once. */
async function answersTo(url: string, origin: string): Promise<Response[]> {
  const made = await fetch(`${url}${predictPath}`, post({ origin, prefer: 'respond-async' }));
  const answers = [
    made,
    await fetch(`${url}${predictPath}`, post({ origin })),
    await fetch(`${url}/v1/models/none`, { headers: { origin } }),
    await fetch(`${url}/v3`, { headers: { origin } }),
    await fetch(`${url}/healthz`, { method: 'PUT', headers: { origin } }),
    await fetch(`${url}${predictPath}`, { method: 'OPTIONS', headers: { origin, ...preflight } }),
    await fetch(`${url}${made.headers.get('location') ?? ''}/events`, { headers: { origin } }),
  ];
  assert.deepEqual(
    answers.map(({ status }) => status),
    [202, 200, 404, 404, 405, 204, 200],
  );
  for (const { body } of answers) await body?.cancel();
  return answers;
}

test('where no origin is configured no answer says a word about origins, and none may be embedded', async () => {
  for (const answer of await answersTo(silent.url, 'https://app.test')) {
    assert.deepEqual(corsOf(answer), {});
    assert.equal(answer.headers.get('cross-origin-resource-policy'), 'same-origin');
  }
});

const exposed =
  'x-request-id, traceresponse, x-cache, server-timing, etag, location, retry-after, ratelimit, ratelimit-policy, preference-applied, link';

test('a listed origin is named in every answer, problems and streams too, and credentials never are', async () => {
  for (const origin of ['https://app.test', 'http://localhost:3000']) {
    for (const answer of await answersTo(listing.url, origin)) {
      const told = corsOf(answer);
      assert.equal(told['access-control-allow-origin'], origin);
      assert.equal(told['access-control-expose-headers'], exposed);
      assert.equal(told['access-control-allow-credentials'], undefined);
      assert.equal(told['vary'], 'origin');
      assert.equal(answer.headers.get('cross-origin-resource-policy'), 'cross-origin');
    }
  }
});

test('an origin that is not listed is answered, but is told nothing; caches keep the two apart', async () => {
  for (const origin of ['https://app.test.evil', 'http://app.test', 'https://APP.test', 'null']) {
    for (const answer of await answersTo(listing.url, origin)) assert.deepEqual(corsOf(answer), { vary: 'origin' });
  }
  assert.deepEqual(corsOf(await fetch(`${listing.url}/healthz`)), { vary: 'origin' });
});

test('where all are let in answers are the same for everybody', async () => {
  for (const answer of await answersTo(open.url, 'https://any.test')) {
    const { 'access-control-allow-origin': allowed, vary } = corsOf(answer);
    assert.deepEqual([allowed, vary], ['*', undefined]);
  }
  assert.equal(corsOf(await fetch(`${open.url}/healthz`))['access-control-allow-origin'], '*');
});

test('a preflight is told the methods of its path and the headers that are read here, and asks for no key', async () => {
  const asked = { method: 'OPTIONS', headers: { origin: 'https://app.test', ...preflight } };
  for (const [path, methods] of [
    [predictPath, 'POST, OPTIONS'],
    ['/v1/tasks/x', 'GET, HEAD, DELETE, OPTIONS'],
  ] as const) {
    const answer = await fetch(`${locked.url}${path}`, asked);
    assert.equal(answer.status, 204);
    assert.deepEqual(corsOf(answer), {
      'access-control-allow-origin': 'https://app.test',
      'access-control-allow-methods': methods,
      'access-control-allow-headers':
        'authorization, x-api-key, content-type, accept, prefer, idempotency-key, x-timeout-ms, x-request-id, traceparent, if-none-match',
      'access-control-max-age': '7200',
      'access-control-expose-headers': exposed,
      vary: 'origin',
    });
  }
  const real = await fetch(`${locked.url}${predictPath}`, post({ origin: 'https://app.test' }));
  assert.deepEqual([real.status, real.headers.get('access-control-allow-origin')], [401, 'https://app.test']);
});

test('OPTIONS without a question of a browser is no preflight', async () => {
  for (const headers of [{ origin: 'https://app.test' }, preflight]) {
    const answer = await fetch(`${listing.url}/healthz`, { method: 'OPTIONS', headers });
    assert.deepEqual([answer.status, answer.headers.has('access-control-allow-methods')], [204, false]);
  }
});
