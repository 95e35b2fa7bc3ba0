import assert from 'node:assert/strict';
import { test } from 'node:test';
import { answerFor, cacheSeconds, encodeCached, expiryOf } from '../../contracts/cached.js';
import { seededRandom } from '../random.js';

const random = seededRandom(8);
const digest = () => random.bytes(32).toString('hex');

test('an answer of any bytes is found under the SHA-256 it was kept with, and under no other', () => {
  for (let length = 1; length < 300; length++) {
    const sha256 = digest();
    const answer = random.bytes(length);
    const cached = encodeCached(sha256, 2_000_000_000, [answer]);
    assert.deepEqual(answerFor(cached, sha256), answer);
    assert.equal(answerFor(cached, digest()), undefined);
    assert.deepEqual(answerFor(cached, undefined), answer);
    assert.equal(expiryOf(cached), 2_000_000_000);
  }
});

test('a SHA-256 that differs in a single bit is another one', () => {
  const sha256 = digest();
  const cached = encodeCached(sha256, 2_000_000_000, [Buffer.from('answer')]);
  for (let bit = 0; bit < 256; bit++) {
    const other = Buffer.from(sha256, 'hex');
    other[bit >> 3] = (other[bit >> 3] ?? 0) ^ (1 << (bit & 7));
    assert.equal(answerFor(cached, other.toString('hex')), undefined);
  }
});

test('a value too short to hold an answer is no answer, also where MD5 alone is trusted', () => {
  const cached = encodeCached(digest(), 2_000_000_000, [Buffer.from('a')]);
  for (let length = 0; length <= 36; length++)
    assert.equal(answerFor(cached.subarray(0, length), undefined), undefined);
});

test('answers written together expire apart, within a tenth of the time they are kept', () => {
  const draw = () => random.int(1_000_000) / 1_000_000;
  const drawn = Array.from({ length: 1000 }, () => cacheSeconds(86_400, draw));
  assert.ok(drawn.every((seconds) => Number.isInteger(seconds) && seconds >= 77_760 && seconds <= 95_040));
  assert.ok(new Set(drawn).size > 900);
  assert.equal(
    cacheSeconds(1, () => 0),
    1,
  );
});
