import assert from 'node:assert/strict';
import { before, test } from 'node:test';
import type { Redis } from 'ioredis';
import { encodeCached, answerFor } from '../../contracts/cached.js';
import { decodeEntry } from '../../contracts/entry.js';
import { cacheKey, replyChannel } from '../../contracts/keys.js';
import { decodeReplies, encodeReplies } from '../../contracts/reply.js';
import { decodeResult } from '../../contracts/result.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { newTaskId } from '../../contracts/task.js';
import { seededRandom } from '../random.js';
import { testRedis } from '../redis.js';
import { enqueueOne, enqueueRequest, leaveOne, resultBytes, toyKeys, toyStream } from '../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const random = seededRandom(11);

/** Every byte value, newlines in the worst places, what looks like UTF-8 and is none, and chance. */
const bodies = [
  Buffer.from(Array.from({ length: 256 }, (_, byte) => byte)),
  Buffer.from(Array.from({ length: 256 }, (_, byte) => 255 - byte)),
  Buffer.from('\n\r\n\0'),
  Buffer.from([0xff, 0xfe, 0xc0, 0x80, 0xed, 0xa0, 0x80]),
  ...Array.from({ length: 50 }, (_, i) => random.bytes(1 + i * 37)),
];

const predictionsIn = (bytes: Buffer) => {
  const result = decodeResult(bytes);
  assert.ok(result.outcome === 'succeeded');
  return Buffer.from(result.predictions);
};

test('predictions of any bytes survive the stored result', async () => {
  for (const body of bodies) {
    const request = enqueueRequest({ image: body });
    await enqueueOne(client, request);
    const left = await leaveOne(client, request.id, { result: resultBytes(body) });
    assert.deepEqual(left, { how: 'left', edges: ['edge-1'] });
    const stored = await client.getBuffer(toyKeys.result(request.id));
    assert.ok(stored);
    assert.deepEqual(predictionsIn(stored), body);
  }
});

test('row 3: an image of any bytes survives its key, and its entry is read as it was written', async () => {
  for (const image of bodies) {
    const request = enqueueRequest({ image });
    await enqueueOne(client, request);
    assert.deepEqual(await client.getBuffer(toyKeys.image(request.id)), image);
    const [[, fields] = ['', []]] = await client.xrevrange(toyStream, '+', '-', 'COUNT', 1);
    const { id: taskId, spec, timeLeftMs } = request;
    assert.deepEqual(decodeEntry(fields), { ok: true, value: { taskId, spec, timeLeftMs, traceparent: '' } });
  }
});

test('row 3: a result of any bytes survives a field of a stream', async () => {
  for (const body of bodies) {
    await client.xadd('elsewhere', '*', 'result', resultBytes(body));
    const [[, fields]] = (await client.xrevrangeBuffer('elsewhere', '+', '-', 'COUNT', 1)) as [[Buffer, Buffer[]]];
    assert.deepEqual(predictionsIn(fields[1] ?? Buffer.alloc(0)), body);
  }
});

test('a cached answer of any bytes survives its key', async () => {
  const sha256 = random.bytes(32).toString('hex');
  for (const body of bodies) {
    await client.set(cacheKey('work'), encodeCached(sha256, 2_000_000_000, [body]));
    const cached = await client.getBuffer(cacheKey('work'));
    assert.deepEqual(cached && answerFor(cached, sha256), body);
  }
});

let messages: Buffer[] = [];
let subscriber: Redis;
before(async () => {
  subscriber = redis.client();
  await subscriber.ssubscribe(replyChannel('edge-1'));
  subscriber.on('smessageBuffer', (_channel: Buffer, message: Buffer) => messages.push(message));
});

test('the results of a batch survive one message of a sharded channel', async () => {
  messages = [];
  const replies = bodies.map((body) => ({ id: newTaskId('toy'), result: resultBytes(body) }));
  const arrived = new Promise((resolve) => subscriber.once('smessageBuffer', resolve));
  assert.equal(await client.spublish(replyChannel('edge-1'), encodeReplies(replies)), 1);
  await arrived;
  assert.equal(messages.length, 1);
  const decoded = decodeReplies(messages[0] ?? Buffer.alloc(0));
  assert.deepEqual(decoded, replies);
  assert.deepEqual(
    decoded.map(({ result }) => predictionsIn(result)),
    bodies,
  );
});
