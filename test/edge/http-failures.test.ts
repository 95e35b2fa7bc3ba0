import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { connect } from 'node:net';
import { after, before, test } from 'node:test';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { publishModels } from '../../contracts/catalogue.js';
import { Failure, failures, isFailureCode, type FailureCode } from '../../contracts/failure.js';
import { anonymous } from '../../edge/access/principal.js';
import { testRedis } from '../redis.js';
import { bodyOf, edgeUnderTest, eventually, serveModels, testConfig, toyManifest } from './edge-under-test.js';
import { pngClaiming } from './image/hostile-images.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
const idle = { ...toyManifest, name: 'idle' };
await publishModels(client, [idle]);
client.disconnect();

const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .png()
  .toBuffer();
let crossFails: Error = new Error('nobody said how');
let accessFails: Error | undefined;
const edge = await edgeUnderTest(stream.url, {
  cross: () => Promise.reject(crossFails),
  authenticate: () => {
    if (accessFails) throw accessFails;
    return anonymous();
  },
});
const seen = new Set<string>();

const predictToy = '/v1/models/toy/predict';
const md5 = '0'.repeat(32);
const json = { 'content-type': 'application/json' };

interface Case {
  readonly code: FailureCode;
  readonly path: string;
  readonly init?: RequestInit;
  readonly detail: RegExp;
}

const post = (body: RequestInit['body'], headers: Record<string, string> = {}): RequestInit => ({
  ...{ method: 'POST', body: body ?? null, headers },
});

const cases: readonly Case[] = [
  { code: 'trace_not_found', path: '/v1/traces/unheard-of', detail: /kept/ },
  { code: 'invalid_params', path: '/v1/traces?since=yesterday', detail: /since: expected a time/ },
  { code: 'invalid_params', path: `${predictToy}?colour=1`, init: post(bodyOf(image)), detail: /"colour"/ },
  {
    code: 'invalid_header',
    path: predictToy,
    init: post(bodyOf(image), { 'x-timeout-ms': 'x' }),
    detail: /x-timeout-ms/,
  },
  {
    ...{ code: 'invalid_multipart', path: predictToy, detail: /closing boundary/ },
    init: post('--b\r\ncontent-disposition: form-data; name="image"\r\n\r\nabc', {
      'content-type': 'multipart/form-data; boundary=b',
    }),
  },
  {
    ...{ code: 'invalid_multipart', path: predictToy, detail: /has no boundary/ },
    init: post('abc', { 'content-type': 'multipart/form-data' }),
  },
  {
    ...{ code: 'invalid_multipart', path: predictToy, detail: /does not occur/ },
    init: post('--b\r\n', { 'content-type': 'multipart/form-data; boundary=c' }),
  },
  { code: 'invalid_json', path: predictToy, init: post('{"image":', json), detail: /not JSON/ },
  { code: 'invalid_json', path: predictToy, init: post('["AAAA"]', json), detail: /object/ },
  { code: 'invalid_base64', path: predictToy, init: post('{"image":"AA*="}', json), detail: /not base64/ },
  { code: 'image_missing', path: predictToy, init: { method: 'POST' }, detail: /empty/ },
  { code: 'image_missing', path: predictToy, init: post('{}', json), detail: /"image"/ },
  { code: 'invalid_digest', path: '/v1/models/toy/results/ABC', detail: /32 lower-case/ },
  { code: 'invalid_digest', path: `/v1/models/toy/results/${md5}?sha256=1`, detail: /64 lower-case/ },
  { code: 'sha256_required', path: `/v1/models/toy/results/${md5}`, detail: /\?sha256=/ },
  { code: 'route_not_found', path: '/v2/models', detail: /\/v2\/models/ },
  { code: 'model_not_found', path: '/v1/models/none/predict', init: post(bodyOf(image)), detail: /no model "none"/ },
  { code: 'model_not_found', path: '/v1/models/none', detail: /"none"/ },
  { code: 'result_not_found', path: `/v1/models/toy/results/${md5}?sha256=${'0'.repeat(64)}`, detail: /expired/ },
  { code: 'method_not_allowed', path: predictToy, detail: /only POST/ },
  { code: 'body_too_large', path: predictToy, init: post(new Uint8Array(300_000)), detail: /300000.*262144/ },
  {
    ...{
      code: 'unsupported_content_type',
      path: predictToy,
      detail: /image\/\*.*multipart\/form-data.*application\/json/,
    },
    init: post(bodyOf(image), { 'content-type': 'application/x-www-form-urlencoded' }),
  },
  {
    code: 'unsupported_image',
    path: predictToy,
    init: post(bodyOf(Buffer.from('BM and more of a bitmap'))),
    detail: /jpeg, png, webp, gif, avif, tiff/,
  },
  { code: 'image_unreadable', path: predictToy, init: post(bodyOf(image.subarray(0, 20))), detail: /png header/ },
  { code: 'image_too_large', path: predictToy, init: post(bodyOf(pngClaiming(50_000, 50_000))), detail: /2500000000/ },
  { code: 'no_live_consumer', path: '/v1/models/idle/predict', init: post(bodyOf(image)), detail: /version 1 of idle/ },
];

for (const { code, path, init = {}, detail } of cases) {
  test(`${code} (${detail.source}) is answered as a problem`, async () => {
    const answer = await fetch(`${edge.url}${path}`, init);
    const text = await answer.text();
    await checkProblem(code, answer, text);
    assert.match(JSON.parse(text).detail, detail);
  });
}

async function checkProblem(code: FailureCode, answer: Response, text: string): Promise<void> {
  const body: Record<string, unknown> = JSON.parse(text);
  assert.equal(body['code'], code, text);
  const { status, retryable, message } = failures[code];
  assert.equal(answer.status, status);
  assert.equal(answer.headers.get('content-type'), 'application/problem+json');
  const { detail, traceId, ...rest } = body;
  const requestId = answer.headers.get('x-request-id');
  const { models, ...constant } = rest;
  assert.deepEqual(constant, { type: `/problems/${code}`, title: message, status, code, retryable, requestId });
  assert.equal(typeof detail, 'string');
  assert.match(String(traceId), /^[0-9a-f]{32}$/);
  if (code === 'model_not_found') assert.deepEqual(models, ['idle', 'toy']);
  assert.equal(answer.headers.has('retry-after'), status === 503 || status === 429);
  assert.equal(answer.headers.has('www-authenticate'), status === 401);
  await eventually(() => edge.records.some((record) => record.requestId === requestId), 'the access log has it');
  const record = edge.records.find((one) => one.requestId === requestId);
  assert.deepEqual([record?.code, record?.status], [code, status]);
  seen.add(code);
}

const fromTheStream = Object.keys(failures).filter(
  (code): code is FailureCode =>
    isFailureCode(code) &&
    [
      'inference_failed',
      'task_dead',
      'task_unreadable',
      'model_version_gone',
      'edge_stopping',
      'traces_unavailable',
      'overloaded',
      'stream_unavailable',
      'task_lost',
      'deadline_exceeded',
    ].includes(code),
);

for (const code of fromTheStream) {
  test(`${code}, thrown on the way across, is answered as a problem`, async () => {
    crossFails = new Failure(code, 'what happened', code === 'overloaded' ? { retryAfter: 7 } : {});
    const answer = await fetch(`${edge.url}${predictToy}`, post(bodyOf(image)));
    await checkProblem(code, answer, await answer.text());
    if (code === 'overloaded') assert.equal(answer.headers.get('retry-after'), '7');
  });
}

const ofAccess = Object.keys(failures)
  .filter(isFailureCode)
  .filter((code) => [401, 403, 429].includes(failures[code].status) || code === 'tokens_unverifiable');

for (const code of ofAccess) {
  test(`${code}, told of who asks, is answered as a problem`, async () => {
    accessFails = new Failure(code, 'what happened');
    try {
      const answer = await fetch(`${edge.url}${predictToy}`, post(bodyOf(image)));
      await checkProblem(code, answer, await answer.text());
    } finally {
      accessFails = undefined;
    }
  });
}

test('a result that failed is answered as its failure', async () => {
  const result = { outcome: 'failed', code: 'image_unreadable', detail: 'the scan ends early' } as const;
  const failing = await edgeUnderTest(stream.url, { cross: () => Promise.resolve({ id: 'x', cache: 'miss', result }) });
  const answer = await fetch(`${failing.url}${predictToy}`, post(bodyOf(image)));
  assert.equal(answer.status, 422);
  assert.match(await answer.text(), /"code":"image_unreadable".*"detail":"the scan ends early"/);
});

test('what nobody foresaw is reported with its stack, and the client learns nothing of it', async () => {
  crossFails = new TypeError('the secret of the house');
  const answer = await fetch(`${edge.url}${predictToy}`, post(bodyOf(image)));
  const text = await answer.text();
  assert.doesNotMatch(text, /secret/);
  await checkProblem('internal', answer, text);
  assert.deepEqual(edge.reported, [crossFails]);
});

test('a body that is cut short is noted as body_incomplete and disturbs nobody', async () => {
  const socket = connect(Number(new URL(edge.url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  socket.end(`POST ${predictToy} HTTP/1.1\r\nhost: x\r\nx-request-id: cut\r\ncontent-length: 1000\r\n\r\nabc`);
  await eventually(() => edge.records.some(({ requestId }) => requestId === 'cut'), 'the cut request is logged');
  assert.equal(edge.records.find(({ requestId }) => requestId === 'cut')?.code, 'body_incomplete');
  seen.add('body_incomplete');
  assert.equal((await fetch(`${edge.url}/healthz`)).status, 200);
});

test('a task that nobody knows is not found, and a key that was used for another picture is refused', async () => {
  const ask = async (path: string, init: RequestInit = {}) => {
    const answer = await fetch(`${edge.url}${path}`, init);
    const { code = '' } = (await answer.json()) as { code?: string };
    seen.add(code);
    return [answer.status, code];
  };
  const unknown = ['toy.0.01890000-0000-7000-8000-000000000000', 'toy.0.x', 'x'.repeat(5000)];
  for (const id of unknown) assert.deepEqual(await ask(`/v1/tasks/${id}`), [404, 'task_not_found']);
  const submit = (bytes: Buffer) => {
    const headers = { prefer: 'respond-async', 'idempotency-key': 'twice' };
    return ask(predictToy, { method: 'POST', body: bodyOf(bytes), headers });
  };
  assert.deepEqual(await submit(image), [202, '']);
  assert.deepEqual(await submit(Buffer.concat([image, Buffer.from('more')])), [422, 'idempotency_mismatch']);
});

test('the methods of every path are told in Allow', async () => {
  const allowed = [
    ['/v1/models', 'DELETE', 'GET, HEAD, OPTIONS'],
    ['/v1/models/toy', 'POST', 'GET, HEAD, OPTIONS'],
    [`/v1/models/toy/results/${md5}`, 'PUT', 'GET, HEAD, OPTIONS'],
    [predictToy, 'HEAD', 'POST, OPTIONS'],
    ['/v1/tasks/x', 'POST', 'GET, HEAD, DELETE, OPTIONS'],
    ['/v1/tasks/x/events', 'DELETE', 'GET, HEAD, OPTIONS'],
    ['/healthz', 'PATCH', 'GET, HEAD, OPTIONS'],
  ] as const;
  for (const [path, method, allow] of allowed) {
    const answer = await fetch(`${edge.url}${path}`, { method });
    assert.deepEqual([answer.status, answer.headers.get('allow')], [405, allow], path);
  }
});

test('a stream that is away is not taken for a model that does not exist', async () => {
  const other = await testRedisGone();
  const answer = await fetch(`${other.url}${predictToy}`, post(bodyOf(image)));
  assert.match(await answer.text(), /"code":"stream_unavailable"/);
  assert.equal(answer.headers.get('retry-after'), '1');
});

let gone: Awaited<ReturnType<typeof testRedis>> | undefined;
before(async () => {
  gone = await testRedis();
});
async function testRedisGone() {
  assert.ok(gone);
  const made = await edgeUnderTest(gone.url, { config: testConfig() });
  await gone.stop();
  return made;
}

/** Told of what never becomes a request with an id: refused-requests.test.ts. */
const unparsed = ['malformed_request', 'request_timeout', 'headers_too_large'];

after(() => {
  const missing = Object.keys(failures).filter((code) => !seen.has(code) && !unparsed.includes(code));
  assert.deepEqual(missing, [], 'failure codes that no test reached');
});

test('what is thrown around a handler is a problem too, with a request or before there is one', async () => {
  const broken = () => {
    throw new Error('broken');
  };
  const late = await edgeUnderTest(stream.url, { clientAddress: broken });
  const early = await edgeUnderTest(stream.url, { clock: { now: broken, sinceEpoch: broken } });
  for (const made of [late, early]) {
    const answer = await fetch(`${made.url}/healthz`);
    assert.equal(answer.status, 500);
    assert.equal(answer.headers.get('content-type'), 'application/problem+json');
    assert.equal(((await answer.json()) as { code: string }).code, 'internal');
    assert.equal(made.reported.length, 1);
  }
});
