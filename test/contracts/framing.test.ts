import assert from 'node:assert/strict';
import { test } from 'node:test';
import { joinFrame, splitFrame } from '../../contracts/framing.js';
import { seededRandom } from '../random.js';

test('a head and a body of any bytes come apart as they were put together', () => {
  const random = seededRandom(7);
  for (let i = 0; i < 200; i++) {
    const head = { text: random.bytes(i).toString('latin1'), line: '\n', 船: [i, null] };
    const bodies = [random.bytes(i), Buffer.from('\n'), random.bytes(i % 7)];
    assert.deepEqual(splitFrame(joinFrame(head, bodies)), { head, body: Buffer.concat(bodies) });
  }
});

test('bytes without a first line of JSON are no frame', () => {
  for (const text of ['', '{}', '\n', 'x\n', '{"a":1', '{"a":1\n}\n', '\u0000\n', '['.repeat(100_000) + '\n']) {
    assert.equal(splitFrame(Buffer.from(text)), undefined, JSON.stringify(text.slice(0, 20)));
  }
});

test('the body is a view, so that large ones are not copied', () => {
  const frame = joinFrame(1, [Buffer.from('abc')]);
  const body = splitFrame(frame)?.body;
  assert.equal(body?.buffer, frame.buffer);
});
