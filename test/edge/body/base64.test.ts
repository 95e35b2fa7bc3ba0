import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { Failure } from '../../../contracts/failure.js';
import { decodeBase64 } from '../../../edge/body/base64.js';

function refusal(text: string): string {
  try {
    decodeBase64(Buffer.from(text));
    return 'accepted';
  } catch (error) {
    return error instanceof Failure && error.code === 'invalid_base64' ? error.detail : `uncoded: ${String(error)}`;
  }
}

test('whatever was encoded comes back, at every length', () => {
  for (let length = 0; length < 100; length += 1) {
    const bytes = randomBytes(length);
    assert.deepEqual(decodeBase64(Buffer.from(bytes.toString('base64'))), bytes);
  }
});

test('a data: URL is refused by its name', () => {
  assert.match(refusal('data:image/png;base64,AAAA'), /data: URLs/);
});

test('only the standard alphabet, padded and in one line, is read', () => {
  for (const text of [
    'AAA',
    'AAAA\n',
    'AA AA===',
    'AAA*',
    '====',
    'A===',
    'AA==AAAA',
    'AA=A',
    'AAAA=',
    '-_-_',
    'AA-A',
  ]) {
    assert.notEqual(refusal(text), 'accepted', text);
    assert.doesNotMatch(refusal(text), /uncoded/, text);
  }
});

test('letters of other scripts do not pass for base64', () => {
  // The low byte of each is a letter of the alphabet; in UTF-8 each takes two bytes.
  assert.match(refusal('\u0141\u0142\u0143\u0144'), /not base64/);
  assert.match(refusal('AA\u0141'), /not base64/);
});

test('one image has one spelling: bits left over by padding must be zero', () => {
  assert.equal(refusal('QQ=='), 'accepted');
  assert.notEqual(refusal('QR=='), 'accepted');
  assert.notEqual(refusal('QUF='), 'accepted');
});

test('ten megabytes are decoded, right and wrong ones', { timeout: 20_000 }, () => {
  const text = Buffer.alloc(10 * 1024 * 1024, 1).toString('base64');
  assert.equal(decodeBase64(Buffer.from(text.slice(0, text.length - (text.length % 4)))).length > 10_000_000, true);
  assert.match(refusal(`${text.slice(0, -5)}!${text.slice(-4)}`), /not base64|bits/);
});
