import assert from 'node:assert/strict';
import { test } from 'node:test';
import { formatTraceparent, parseTraceparent } from '../../contracts/traceparent.js';

const traceId = '4bf92f3577b34da6a3ce929d0e0e4736';
const spanId = '00f067aa0ba902b7';
const plain = `00-${traceId}-${spanId}-01`;

test('a sampled and an unsampled context are written and read again', () => {
  for (const traceFlags of [0, 1]) {
    const header = formatTraceparent({ traceId, spanId, traceFlags });
    assert.equal(header, `00-${traceId}-${spanId}-0${traceFlags}`);
    assert.deepEqual(parseTraceparent(header), { traceId, spanId, traceFlags, isRemote: true });
  }
});

test('flags that are not known are neither heeded nor passed on', () => {
  for (const [flags, traceFlags] of [
    ['ff', 1],
    ['fe', 0],
    ['03', 1],
    ['02', 0],
  ] as const) {
    assert.equal(parseTraceparent(`00-${traceId}-${spanId}-${flags}`)?.traceFlags, traceFlags);
  }
  assert.equal(formatTraceparent({ traceId, spanId, traceFlags: 0xff }), plain);
});

test('a future version is read as far as it is known', () => {
  for (const header of [
    `01-${traceId}-${spanId}-01`,
    `cc-${traceId}-${spanId}-01-what-the-future-holds`,
    `fe-${traceId}-${spanId}-01-`,
  ]) {
    assert.equal(parseTraceparent(header)?.traceId, traceId, header);
  }
});

const malformed: Record<string, string> = {
  'the forbidden version ff': `ff-${traceId}-${spanId}-01`,
  'version 00 with more behind it': `${plain}-more`,
  'version 00 with a dash behind it': `${plain}-`,
  'a future version whose suffix has no dash': `cc-${traceId}-${spanId}-01.what`,
  'a future version with longer flags': `cc-${traceId}-${spanId}-0100`,
  'a trace id of zeros': `00-${'0'.repeat(32)}-${spanId}-01`,
  'a span id of zeros': `00-${traceId}-${'0'.repeat(16)}-01`,
  'an upper-case trace id': `00-${traceId.toUpperCase()}-${spanId}-01`,
  'an upper-case span id': `00-${traceId}-${spanId.toUpperCase()}-01`,
  'upper-case flags': `00-${traceId}-${spanId}-0A`,
  'a letter beyond f': `00-${traceId.replace('a', 'g')}-${spanId}-01`,
  'a short version': `0-${traceId}-${spanId}-01`,
  'a long trace id': `00-${traceId}0-${spanId}-01`,
  'a long span id': `00-${traceId}-${spanId}0-01`,
  'other separators': plain.replaceAll('-', '_'),
  'a space in front': ` ${plain}`,
  'a line end behind': `${plain}\n`,
  'two headers in one': `${plain},${plain}`,
};

for (const [what, header] of Object.entries(malformed)) {
  test(`${what} starts a new trace`, () => {
    assert.equal(parseTraceparent(header), undefined);
  });
}

test('a header that is cut anywhere starts a new trace', () => {
  for (let length = 0; length < plain.length; length++)
    assert.equal(parseTraceparent(plain.slice(0, length)), undefined);
});
