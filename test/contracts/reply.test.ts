import assert from 'node:assert/strict';
import { test } from 'node:test';
import { decodeReplies, encodeReplies, type Reply } from '../../contracts/reply.js';
import { newTaskId } from '../../contracts/task.js';
import { seededRandom } from '../random.js';
import { resultBytes } from '../tasks.js';

const reply = (result: Buffer): Reply => ({ id: newTaskId('toy'), result });
const three = [reply(resultBytes('[1]')), reply(Buffer.alloc(0)), reply(resultBytes('\n\n'))];

test('the results of a batch come back in order and byte for byte', () => {
  const random = seededRandom(5);
  for (let size = 0; size < 65; size++) {
    const replies = Array.from({ length: size }, () => reply(random.bytes(random.int(200))));
    assert.deepEqual(decodeReplies(encodeReplies(replies)), replies);
  }
});

test('a message that is cut anywhere holds no replies: half a result is none', () => {
  const message = encodeReplies(three);
  for (let length = 0; length < message.length; length++) {
    assert.deepEqual(decodeReplies(message.subarray(0, length)), [], `${length} of ${message.length} bytes`);
  }
});

test('a message whose lengths lie holds no replies', () => {
  const lying = (lengths: unknown[]) =>
    Buffer.from(`${JSON.stringify(lengths.map((length) => ['toy.0.x', length]))}\nabcdef`);
  assert.equal(decodeReplies(lying([2, 4])).length, 2);
  for (const lengths of [[7], [5], [2, 5], [0], [6, 1], [-1, 7], [1.5, 4.5], ['6'], [null], [1e300], [2 ** 53]]) {
    assert.deepEqual(decodeReplies(lying(lengths)), [], JSON.stringify(lengths));
  }
});

test('garbage of every length, and heads of another form, hold no replies', () => {
  const random = seededRandom(6);
  for (let length = 0; length < 500; length++) {
    assert.deepEqual(decodeReplies(random.bytes(length)), []);
    assert.deepEqual(decodeReplies(Buffer.concat([random.bytes(length), Buffer.from('\n'), random.bytes(length)])), []);
  }
  for (const head of ['null', '{}', '7', '[["a"]]', '[["a",1,2]]', '[[1,1]]', '[{"id":"a"}]']) {
    assert.deepEqual(decodeReplies(Buffer.from(`${head}\nx`)), [], head);
  }
});
