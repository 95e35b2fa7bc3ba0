import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { digestsOf } from '../../../edge/digest.js';
import { testRedis } from '../../redis.js';
import type { Order } from '../../../edge/crossing.js';
import {
  bodyOf,
  edgeUnderTest,
  eventually,
  recordingCross,
  serveModels,
  toyManifest,
  toyPredictions,
} from '../edge-under-test.js';

const stream = await testRedis();
const client = new Redis(stream.url);
await serveModels(client, [toyManifest]);
client.disconnect();
const cross = recordingCross();
const edge = await edgeUnderTest(stream.url, { cross });
const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .jpeg()
  .toBuffer();
const predictUrl = `${edge.url}/v1/models/toy/predict`;

function post(body: RequestInit['body'], headers: Record<string, string> = {}, query = ''): Promise<Response> {
  return fetch(`${predictUrl}${query}`, { method: 'POST', body: body ?? null, headers });
}

function form(fields: Record<string, string> = {}): FormData {
  const made = new FormData();
  made.set('image', new Blob([bodyOf(image)], { type: 'image/jpeg' }), 'red.jpg');
  for (const [name, value] of Object.entries(fields)) made.set(name, value);
  return made;
}

const json = { 'content-type': 'application/json' };
const jpeg = { 'content-type': 'image/jpeg' };

async function problemCode(response: Promise<Response>): Promise<string> {
  const answer = await response;
  const { code, detail } = JSON.parse(await answer.text());
  return `${answer.status} ${code}: ${detail}`;
}

test('all forms of body bring the same image and the same parameters across', async () => {
  cross.orders.length = 0;
  const base64 = image.toString('base64');
  const answers = await Promise.all([
    post(bodyOf(image), jpeg, '?top=1&minScore=0.25'),
    post(bodyOf(image), { 'content-type': 'application/octet-stream' }, '?top=1&minScore=0.25'),
    post(new Blob([bodyOf(image)]), {}, '?top=1&minScore=0.25'),
    post(form({ top: '1', minScore: '0.25' })),
    post(form({ top: '1' }), {}, '?minScore=0.25'),
    post(JSON.stringify({ image: base64, params: { top: 1, minScore: 0.25 } }), json),
    post(JSON.stringify({ image: base64, params: { top: 1 } }), json, '?minScore=0.25'),
  ]);
  for (const answer of answers) assert.equal(answer.status, 200, await answer.text());
  assert.equal(cross.orders.length, answers.length);
  for (const order of cross.orders) {
    assert.deepEqual(order.image, image);
    assert.deepEqual(order.spec, {
      ...{ v: 1, model: 'toy', version: '1', ...digestsOf(image), params: { top: 1, minScore: 0.25 } },
      ...{ scope: 'shared', tenant: 'anonymous', tier: 'free', lane: 'normal', bytes: image.length },
    });
    assert.equal(order.work, `shared:toy:1:minScore=0.25&top=1:${digestsOf(image).md5}`);
  }
});

test('an answer holds what the interface promises, and headers say where it came from and what it took', async () => {
  const answer = await post(bodyOf(image), { ...jpeg, 'x-request-id': 'mine-1' });
  const body = JSON.parse(await answer.text());
  assert.deepEqual(Object.keys(body), ['id', 'model', 'version', 'task', 'cache', 'predictions', 'timing']);
  assert.deepEqual(body.predictions, JSON.parse(toyPredictions));
  assert.equal(body.cache, 'miss');
  assert.equal(answer.headers.get('content-type'), 'application/json');
  assert.equal(answer.headers.get('x-cache'), 'miss');
  assert.equal(answer.headers.get('x-request-id'), 'mine-1');
  const timings = (answer.headers.get('server-timing') ?? '').split(', ').map((entry) => entry.split(';')[0]);
  assert.deepEqual(timings, ['body', 'digest', 'cache', 'cross', 'queue', 'decode', 'batch', 'infer']);
});

test('a request id that could do harm in a log is replaced', async () => {
  const answer = await post(bodyOf(image), { ...jpeg, 'x-request-id': 'a b"c' });
  assert.match(answer.headers.get('x-request-id') ?? '', /^[0-9a-f]{8}-[0-9a-f]{4}-7/);
});

test('defaults of the manifest fill in what a request leaves out', async () => {
  cross.orders.length = 0;
  await post(bodyOf(image), jpeg);
  assert.deepEqual(cross.orders[0]?.spec.params, { top: 2, minScore: 0 });
});

test('the deadline is the default, or what x-timeout-ms says', async () => {
  cross.orders.length = 0;
  await post(bodyOf(image), jpeg);
  await post(bodyOf(image), { ...jpeg, 'x-timeout-ms': '1234' });
  const [byDefault = 0, asked = 0] = cross.orders.map(({ timeLeftMs }) => timeLeftMs);
  // What the request took so far is no longer left.
  assert.ok(byDefault <= 10_000 && byDefault > 5_000, String(byDefault));
  assert.ok(asked <= 1234 && asked > 0, String(asked));
  for (const wrong of ['0', '-1', '1.5', 'soon', '60001', '']) {
    const said = await problemCode(post(bodyOf(image), { ...jpeg, 'x-timeout-ms': wrong }));
    assert.match(said, /^400 invalid_header: .*1 to 60000/, wrong);
  }
});

test('unknown, doubled and impossible parameters are refused by name, wherever they stand', async () => {
  const asJson = (params: unknown) => JSON.stringify({ image: image.toString('base64'), params });
  const unknown = [
    post(bodyOf(image), jpeg, '?colour=red'),
    post(form({ colour: 'red' })),
    post(asJson({ colour: 'red' }), json),
    post(asJson({}), json, '?colour=red'),
  ];
  for (const one of unknown)
    assert.match(await problemCode(one), /^400 invalid_params: unknown parameter "colour"; .*top/);
  const twice = [
    post(bodyOf(image), jpeg, '?top=1&top=1'),
    post(form({ top: '1' }), {}, '?top=1'),
    post(asJson({ top: 1 }), json, '?top=1'),
  ];
  for (const one of twice) assert.match(await problemCode(one), /^400 invalid_params: parameter "top" is given twice/);
  const doubled = form();
  doubled.append('top', '1');
  doubled.append('top', '2');
  assert.match(await problemCode(post(doubled)), /^400 invalid_params: parameter "top" is given twice/);
  assert.match(await problemCode(post(bodyOf(image), jpeg, '?top=0')), /^400 invalid_params: top/);
  assert.match(await problemCode(post(bodyOf(image), jpeg, '?top=%F0')), /^400 invalid_params: top/);
  assert.match(await problemCode(post(bodyOf(image), jpeg, '?__proto__=1')), /unknown parameter "__proto__"/);
  assert.match(
    await problemCode(post(`{"image":"AAAA","params":{"__proto__":{"top":1}}}`, json)),
    /400 invalid_params: unknown/,
  );
});

test('members of a JSON body that mean nothing are refused by name', async () => {
  const said = await problemCode(post(JSON.stringify({ image: 'AAAA', modell: 'x' }), json));
  assert.match(said, /^400 invalid_json: .*"modell"/);
});

test('a form needs exactly one image, and only the image may be a file', async () => {
  const two = form();
  two.append('image', new Blob(['x']), 'x.jpg');
  assert.match(await problemCode(post(two)), /^400 invalid_multipart: there are two fields "image"/);
  const other = form();
  other.set('mask', new Blob(['x']), 'x.png');
  assert.match(await problemCode(post(other)), /^400 invalid_multipart: field "mask" is a file/);
  const none = new FormData();
  none.set('top', '1');
  assert.match(await problemCode(post(none)), /^400 image_missing: the form has no field "image"/);
});

test('the limit is on the image, in every form of body', async () => {
  const large = Buffer.concat([image, Buffer.alloc(edge.deps.config.maxBodyBytes + 1 - image.length)]);
  const asForm = new FormData();
  asForm.set('image', new Blob([bodyOf(large)]));
  const tooLarge = [
    post(bodyOf(large), jpeg),
    post(asForm),
    post(JSON.stringify({ image: large.toString('base64') }), json),
  ];
  for (const one of tooLarge) assert.match(await problemCode(one), /^413 body_too_large: .*262145.*262144/);
  const largest = large.subarray(0, -1);
  const form2 = new FormData();
  form2.set('image', new Blob([bodyOf(largest)]));
  const fitting = [
    post(bodyOf(largest), jpeg),
    post(form2),
    post(JSON.stringify({ image: largest.toString('base64') }), json),
  ];
  for (const one of fitting) assert.equal((await one).status, 200);
});

test('a client that goes away is noticed by who waits for its result', async () => {
  let arrived: (order: Order) => void = () => undefined;
  const waiting = new Promise<Order>((resolve) => (arrived = resolve));
  const patient = await edgeUnderTest(stream.url, {
    cross: (order) => {
      arrived(order);
      return new Promise((_, reject) => order.signal?.addEventListener('abort', () => reject(new Error('gone'))));
    },
  });
  const client = new AbortController();
  const url = `${patient.url}/v1/models/toy/predict`;
  const asked = fetch(url, { method: 'POST', body: bodyOf(image), signal: client.signal });
  const { signal } = await waiting;
  assert.equal(signal?.aborted, false);
  client.abort();
  await assert.rejects(asked);
  await eventually(() => signal.aborted, 'the signal of the order is aborted');
});

test('a result that came by joining says so, and a failed one is answered by its code', async () => {
  const joined = await edgeUnderTest(stream.url, {
    cross: async (order) => ({ ...(await recordingCross()(order)), cache: 'joined' }),
  });
  const answer = await fetch(`${joined.url}/v1/models/toy/predict`, { method: 'POST', body: bodyOf(image) });
  assert.equal(answer.headers.get('x-cache'), 'joined');
  assert.equal(JSON.parse(await answer.text()).cache, 'joined');
  assert.equal(joined.records[0]?.cache, 'joined');
});
