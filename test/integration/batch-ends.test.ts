import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect } from 'node:net';
import { before, test } from 'node:test';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { failures } from '../../contracts/failure.js';
import { partitionKeys } from '../../contracts/keys.js';
import type { RunningEdge } from '../../edge/node-server.js';
import { picture } from '../pictures.js';
import { formOf, linesOf, sendBatch } from './batches.js';
import { servedBy, testSystem, until } from './system.js';
import { serveByNobody } from './tenants.js';

/** How batches end that do not come to their end. */
const system = await testSystem();
const { stream } = system;
const model = 'ended';
const unread = 'unread';
const env = { SAMPAN_MAX_BATCH_IMAGES: '5', SAMPAN_MAX_BODY_BYTES: '4096' };
let edge: RunningEdge;

before(async () => {
  await system.backend(servedBy(simulatedModel({ manifest: { name: model } })));
  await serveByNobody(stream, unread, 0);
  edge = await system.edge(env);
});

const named = (name: string, count: number) => Array.from({ length: count }, (_, i) => picture(`${name}-${String(i)}`));
const lines = { 'content-type': 'application/x-ndjson' };
const form = { 'content-type': 'multipart/form-data; boundary=b' };
const part = (image: Uint8Array, name = 'image') =>
  Buffer.concat([
    Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"; filename="a"\r\n\r\n`),
    image,
    Buffer.from('\r\n'),
  ]);
const field = (name: string, value: string) =>
  Buffer.from(`--b\r\ncontent-disposition: form-data; name="${name}"\r\n\r\n${value}\r\n`);
const send = (init: Parameters<typeof sendBatch>[2], to = model) => sendBatch(edge.url, to, init);
const codes = ({ items }: Awaited<ReturnType<typeof send>>) => items.map(({ problem }) => problem?.code);

test('where a form breaks off, the pictures before are answered, and the last item says what is wrong', async () => {
  const [one, two] = named('broken', 2);
  assert.ok(one && two);
  const bodies = {
    'the headers of a part do not end': Buffer.concat([part(one), part(two), Buffer.from('--b\r\ncontent-')]),
    'a part has no name': Buffer.concat([
      part(one),
      part(two),
      Buffer.from('--b\r\ncontent-disposition: form-data\r\n\r\nx\r\n--b--'),
    ]),
    'parameters stand before the first image': Buffer.concat([
      part(one),
      part(two),
      field('top', '1'),
      Buffer.from('--b--'),
    ]),
    'field "photo" is a file': Buffer.concat([part(one), part(two), part(one, 'photo'), Buffer.from('--b--')]),
  };
  for (const [what, body] of Object.entries(bodies)) {
    const answer = await send({ headers: form, body });
    assert.equal(answer.status, 200, what);
    assert.deepEqual(codes(answer), [undefined, undefined, 'invalid_multipart'], what);
    const last = answer.items.at(-1);
    assert.deepEqual([last?.index, last?.status], [2, 400]);
    assert.ok(last?.problem?.detail.startsWith(what), last?.problem?.detail);
  }
});

test('a batch that breaks off before its first picture is a problem as a whole', async () => {
  const bodies: [RequestInit, string][] = [
    [{ headers: form, body: '--b--\r\n' }, 'image_missing'],
    [{ headers: form, body: Buffer.concat([field('top', '1'), Buffer.from('--b--')]) }, 'image_missing'],
    [{ headers: lines, body: '\n\n' }, 'image_missing'],
    [{ headers: lines, body: '' }, 'image_missing'],
    [{ headers: form, body: 'no boundary anywhere' }, 'invalid_multipart'],
    [{ headers: { 'content-type': 'multipart/form-data' }, body: 'x' }, 'invalid_multipart'],
    [{ headers: { 'content-type': 'image/jpeg' }, body: picture('alone') }, 'unsupported_content_type'],
    [{ headers: { 'content-type': 'application/json' }, body: '[]' }, 'unsupported_content_type'],
    [{ headers: { ...lines, 'x-timeout-ms': 'soon' }, body: linesOf(named('header', 1)) }, 'invalid_header'],
  ];
  for (const [init, code] of bodies) {
    for (const accept of ['application/json', 'application/x-ndjson']) {
      const answer = await send({ ...init, headers: { ...(init.headers as Record<string, string>), accept } });
      assert.deepEqual([answer.body.code, answer.status], [code, answer.body.status], code);
      assert.equal(answer.headers.get('content-type'), 'application/problem+json');
    }
  }
  const unknown = await send({ headers: lines, body: linesOf(named('query', 1)), query: '?colour=1' });
  assert.deepEqual([unknown.status, unknown.body.code], [400, 'invalid_params']);
});

test('lines that are wrong are answered as such, and those after them are read', async () => {
  const good = linesOf([picture('good')]).trim();
  const long = JSON.stringify({ image: 'A'.repeat(100_000) });
  const odd = JSON.stringify({ image: picture('odd').toString('base64'), params: { colour: 1 } });
  const large = JSON.stringify({ image: picture('large', 5000).toString('base64') });
  const body = ['{', good, '{"image":"?"}', long, '{}', odd, large].join('\n');
  const wide = await system.edge({ ...env, SAMPAN_MAX_BATCH_IMAGES: '100' });
  const { items } = await sendBatch(wide.url, model, { headers: lines, body: `${body}\r\n\n${good}` });
  assert.deepEqual(
    items.map(({ index, status, problem }) => [index, status, problem?.code]),
    [
      [0, 400, 'invalid_json'],
      [1, 200, undefined],
      [2, 400, 'invalid_base64'],
      [3, 413, 'body_too_large'],
      [4, 400, 'image_missing'],
      [5, 400, 'invalid_params'],
      [6, 413, 'body_too_large'],
      [7, 200, undefined],
    ],
  );
  for (const { problem } of items) {
    if (!problem) continue;
    assert.ok(Object.keys(failures).includes(problem.code) && problem.detail !== '');
  }
});

test('a file that is too large, or empty, fails alone', async () => {
  const images = [picture('first'), picture('large', 5000), Buffer.alloc(0), picture('last')];
  const answer = await send({ body: formOf(images) });
  assert.deepEqual(codes(answer), [undefined, 'body_too_large', 'image_missing', undefined]);
});

test('of more pictures than are allowed those that are get their answers', async () => {
  const answer = await send({ body: formOf(named('more', 7)) });
  assert.deepEqual(codes(answer), [...Array<undefined>(5).fill(undefined), 'body_too_large']);
  assert.equal(answer.items.at(-1)?.status, 413);
});

test('where there is no room for a picture in its time, a batch ends with it; those after it are not looked at', async () => {
  const narrow = await system.edge({ ...env, SAMPAN_MAX_TASKS: '1' });
  const other = picture('takes the only place');
  const taken = await fetch(`${narrow.url}/v1/models/${unread}/predict`, {
    ...{ method: 'POST', body: other, headers: { prefer: 'respond-async' } },
  });
  assert.equal(taken.status, 202);
  const headers = { ...lines, 'x-timeout-ms': '400' };
  const whole = await sendBatch(narrow.url, unread, { headers, body: linesOf(named('full', 3)) });
  assert.deepEqual([whole.status, whole.body.code], [503, 'overloaded']);
  assert.match(whole.headers.get('retry-after') ?? '', /^\d+$/);
  const body = linesOf([Buffer.from('no picture'), ...named('full', 3)]);
  const part = await sendBatch(narrow.url, unread, { headers, body });
  assert.equal(part.status, 200);
  assert.deepEqual(codes(part), ['unsupported_image', 'overloaded']);
  await fetch(`${narrow.url}${taken.headers.get('location') ?? ''}`, { method: 'DELETE' });
});

test('an edge that stops finishes the pictures it has read, and says from which one on the rest is to be sent again', async () => {
  const stopped = await system.edge(env);
  const { hostname, port } = new URL(stopped.url);
  const socket = connect(Number(port), hostname);
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  const closed = once(socket, 'close');
  const [first, second] = named('stopping', 2).map((image) => linesOf([image]));
  assert.ok(first && second);
  socket.write(
    `POST /v1/models/${unread}/batch HTTP/1.1\r\nhost: x\r\ncontent-type: application/x-ndjson\r\naccept: application/x-ndjson\r\n` +
      `x-timeout-ms: 2000\r\ncontent-length: ${String(first.length + second.length)}\r\n\r\n${first}`,
  );
  await until(
    () => stream.xlen(partitionKeys(unread).tasks('normal')),
    (entries) => entries === 1,
  );
  const closing = stopped.close();
  socket.write(second);
  assert.equal(await closing, true, 'all was finished in time');
  await closed;
  assert.match(answer, /^HTTP\/1\.1 200 OK/);
  assert.match(answer, /"index":1,"status":503,"problem":\{"type":"\/problems\/edge_stopping"/);
  assert.match(answer, /"index":0,"status":504/);
});
