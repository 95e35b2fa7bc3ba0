import assert from 'node:assert/strict';
import { test } from 'node:test';
import { byteSource } from '../../../edge/body/byte-source.js';
import { beforeForm, formImages } from '../../../edge/body/form-images.js';
import { seededRandom } from '../../random.js';

async function* inPieces(body: Buffer, size: () => number): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < body.length;) {
    const end = at + size();
    yield body.subarray(at, end);
    at = end;
  }
}

test('a body is taken apart alike, wherever it was cut on its way', async () => {
  const random = seededRandom(7);
  const delimiter = Buffer.from('\r\n--b');
  const parts = ['', 'one', '\r', '\r\n-', '\r\n--', 'x\r\n-\r\n--', '--b', 'y'.repeat(100)];
  const body = Buffer.from(parts.map((part) => `${part}\r\n--b`).join('') + 'rest');
  for (const most of [1, 2, 3, 7, 1000]) {
    const source = byteSource(
      inPieces(body, () => 1 + random.int(most)),
      Buffer.alloc(0),
    );
    for (const part of parts) assert.equal(String(await source.until(delimiter, 1000)), part);
    assert.equal(await source.until(delimiter, 1000), 'ended');
    assert.equal(String(source.rest()), 'rest');
  }
});

test('more than is wanted is passed over and not kept, and what follows is found', async () => {
  const body = Buffer.from(`${'x'.repeat(1000)}|short|${'y'.repeat(1000)}`);
  const source = byteSource(
    inPieces(body, () => 10),
    Buffer.alloc(0),
  );
  assert.equal(await source.until(Buffer.from('|'), 100), 'too long');
  assert.equal(String(await source.until(Buffer.from('|'), 100)), 'short');
  assert.equal(await source.until(Buffer.from('|'), 100), 'ended');
  assert.equal(source.rest(), undefined);
});

test('a form is read no further than its reader asks', async () => {
  let asked = 0;
  const part = (text: string) => `--b\r\ncontent-disposition: form-data; name="image"\r\n\r\n${text}\r\n`;
  async function* pieces(): AsyncGenerator<Uint8Array> {
    for (const text of ['one', 'two', 'three']) {
      asked += 1;
      yield Buffer.from(part(text));
    }
    yield Buffer.from('--b--');
  }
  const images = formImages(byteSource(pieces(), beforeForm), 'b', 100);
  const first = await images.next();
  assert.ok(!first.done && 'image' in first.value);
  assert.equal(String(first.value.image), 'one');
  // Whether the second boundary has come can only be told by what follows the first picture.
  assert.equal(asked, 2);
  const rest: string[] = [];
  for await (const one of images) rest.push('image' in one ? String(one.image) : one.failure.code);
  assert.deepEqual(rest, ['two', 'three']);
});
