import assert from 'node:assert/strict';
import { test } from 'node:test';
import { boundedLines } from '../../../backend/memory/bounded-lines.js';
import { readSmiLine, smiDevice } from '../../../backend/memory/nvidia-smi-line.js';

const mebibyte = 1024 * 1024;

test('figures are read in bytes, however they are spaced', () => {
  const figures = { kind: 'figures', usedBytes: 1234 * mebibyte, limitBytes: 81_920 * mebibyte };
  for (const line of ['0, 1234, 81920', '0,1234,81920', ' 7 ,  1234 , 81920 ']) {
    assert.deepEqual(readSmiLine(line), figures, line);
  }
});

test('figures that are hidden are told as such, with the reason', () => {
  for (const why of ['[N/A]', '[Not Supported]', '[Insufficient Permissions]', '[GPU is lost]']) {
    assert.deepEqual(readSmiLine(`0, ${why}, ${why}`), { kind: 'hidden', why });
    assert.deepEqual(readSmiLine(`0, 12, ${why}`), { kind: 'hidden', why });
  }
  assert.deepEqual(readSmiLine('0, 0, 0'), { kind: 'hidden', why: '0 of 0 MiB' });
});

test('anything else is words, cut short', () => {
  const words = [
    'No devices were found',
    'Failed to initialize NVML: Driver/library version mismatch',
    '0, 1234',
    '0, 1, 2, 3',
    'x, 1, 2',
    '0, 1,',
    '-1, 1, 2',
  ];
  for (const line of words) assert.deepEqual(readSmiLine(line), { kind: 'words', words: line });
  assert.deepEqual(readSmiLine('y'.repeat(1000)), { kind: 'words', words: 'y'.repeat(200) });
  // More digits than any memory has are no figures.
  assert.equal(readSmiLine('0, 1, 1234567890123').kind, 'hidden');
});

test('a device is called as nvidia-smi knows it', () => {
  assert.equal(smiDevice(1, undefined), '1');
  assert.equal(smiDevice(1, ''), '1');
  assert.equal(smiDevice(1, '6, 4'), '4');
  assert.equal(smiDevice(0, 'GPU-8f2a,GPU-11b0'), 'GPU-8f2a');
  assert.equal(smiDevice(2, '6,4'), '2');
});

test('lines are put together from chunks of any size', () => {
  const text = 'one\ntwo\r\n\nthree\nrest';
  for (let size = 1; size <= text.length; size++) {
    const lines: string[] = [];
    const take = boundedLines(10, (line) => lines.push(line));
    for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
    assert.deepEqual(lines, ['one', 'two', '', 'three'], `${size} at a time`);
  }
});

test('a line that is too long is left out, in one chunk or in many, and the next one is whole', () => {
  for (const size of [1, 7, 64, 1000]) {
    const lines: string[] = [];
    const take = boundedLines(10, (line) => lines.push(line));
    const text = `first\n${'x'.repeat(100)}\nnext\n${'y'.repeat(11)}\nlast\n`;
    for (let at = 0; at < text.length; at += size) take(text.slice(at, at + size));
    assert.deepEqual(lines, ['first', 'next', 'last'], `${size} at a time`);
  }
});
