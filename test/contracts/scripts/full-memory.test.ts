import assert from 'node:assert/strict';
import { beforeEach, test } from 'node:test';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { keysLeft, testRedis } from '../../redis.js';
import {
  enqueueOne,
  deliver,
  enqueueRequest,
  leaveOne,
  pending,
  resultBytes,
  toyKeys,
  toyStream,
} from '../../tasks.js';

const MiB = 1024 * 1024;
const redis = await testRedis({ extra: ['--maxmemory', '6mb'] });
const client = defineScripts(redis.client());
beforeEach(() => client.flushall());

/** Fills Redis until it takes no more. */
async function fill(): Promise<void> {
  for (let size = MiB / 2; size >= 16; size /= 2) {
    for (let i = 0; ; i++) {
      const written = await client.set(`filler:${size}:${i}`, Buffer.alloc(size)).catch((error: unknown) => error);
      if (written === 'OK') continue;
      assert.match(String(written), /OOM/);
      break;
    }
  }
}

const own = async () => (await keysLeft(client)).filter((key) => !key.startsWith('filler:'));

test('row 14: where memory is full a task is refused as such, and leaves nothing', async () => {
  await client.xgroup('CREATE', toyStream, 'consumers', '0', 'MKSTREAM');
  await fill();
  for (let i = 0; i < 20; i++)
    await assert.rejects(enqueueOne(client, enqueueRequest({ image: Buffer.alloc(20_000, i) })), /OOM/);
  assert.deepEqual(await own(), [toyStream]);
  assert.equal(await client.xlen(toyStream), 0);
});

test('row 14: where memory is full tasks leave and make room', async () => {
  const requests = Array.from({ length: 10 }, (_, i) => enqueueRequest({ image: Buffer.alloc(50_000, i) }));
  for (const request of requests) await enqueueOne(client, request);
  const entries = await deliver(client, 'one', 10);
  await fill();
  for (const [i, { id }] of requests.entries()) {
    const left = await leaveOne(client, id, { entryId: entries[i] ?? '', result: resultBytes('["stored"]') });
    assert.equal(left.how, 'left');
    assert.deepEqual(await client.getBuffer(toyKeys.result(id)), resultBytes('["stored"]'));
  }
  assert.deepEqual(await own(), [...requests.map(({ id }) => toyKeys.result(id)), toyStream].sort());
  assert.deepEqual(await pending(client), []);
  assert.equal((await enqueueOne(client, enqueueRequest())).how, 'admitted');
});

test('an image larger than the memory that is left is refused whole: there is no task without its image', async () => {
  await client.xgroup('CREATE', toyStream, 'consumers', '0', 'MKSTREAM');
  await fill();
  assert.equal(await client.del('filler:524288:0'), 1);
  await assert.rejects(enqueueOne(client, enqueueRequest({ image: Buffer.alloc(2 * MiB) })), /OOM/);
  assert.deepEqual(await own(), [toyStream]);
  assert.equal(await client.xlen(toyStream), 0);
});

test('where memory ends between an image and its task, neither is left behind', async () => {
  const ends = new Set<string>();
  for (const bytes of [100, 1_000, 20_000, 40_000]) {
    for (let spare = 0; spare <= 4_000; spare += 400) {
      await client.flushall();
      await client.xgroup('CREATE', toyStream, 'consumers', '0', 'MKSTREAM');
      await client.set('spare', Buffer.alloc(1 + bytes + spare));
      await fill();
      await client.del('spare');
      const request = enqueueRequest({ image: Buffer.alloc(bytes, 1) });
      const end = await enqueueOne(client, request).then(({ how }) => how, String);
      const { load, work } = toyKeys;
      const whole = [toyKeys.image(request.id), load, toyKeys.task(request.id), toyStream, work].sort();
      const expected = end === 'admitted' ? whole : [toyStream];
      assert.deepEqual(await own(), expected, `${bytes} bytes, ${spare} to spare: ${end}`);
      ends.add(end === 'admitted' ? end : 'refused');
    }
  }
  assert.deepEqual([...ends].sort(), ['admitted', 'refused']);
});
