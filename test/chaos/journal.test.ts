import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readJournal } from './journal.js';

const dir = mkdtempSync(join(tmpdir(), 'sampan-journal-'));
after(() => rmSync(dir, { recursive: true }));

const parts = [
  { name: 'backend-0', clockOffMs: 0, lives: [{ pid: 1, startedAt: 0 }] },
  { name: 'backend-1', clockOffMs: -500, lives: [2, 3].map((pid) => ({ pid, startedAt: 0 })) },
];

let files = 0;

function written(...lines: readonly object[]): string {
  const path = join(dir, `${String(files++)}.jsonl`);
  writeFileSync(path, lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
  return path;
}

test('runs of several processes are told apart, on one clock, and one that was cut off never ends', () => {
  const path = written(
    { at: 100, pid: 1, event: 'start', images: ['a', 'b'] },
    { at: -390, pid: 2, event: 'start', images: ['c'] },
    { at: 150, pid: 1, event: 'end', images: ['a', 'b'] },
    { at: -200, pid: 3, event: 'start', images: ['c'] },
    { at: -150, pid: 3, event: 'end', images: ['c'] },
  );
  assert.deepEqual(readJournal(path, parts), [
    { md5: 'a', part: 'backend-0', pid: 1, startedAt: 100, endedAt: 150 },
    { md5: 'b', part: 'backend-0', pid: 1, startedAt: 100, endedAt: 150 },
    { md5: 'c', part: 'backend-1', pid: 2, startedAt: 110, endedAt: Infinity },
    { md5: 'c', part: 'backend-1', pid: 3, startedAt: 300, endedAt: 350 },
  ]);
});

test('canaries are nobody’s pictures, and lines of strangers are refused', () => {
  const canary = createHash('md5').update('canary').digest('hex');
  assert.deepEqual(readJournal(written({ at: 1, pid: 1, event: 'start', images: [canary] }), parts), []);
  assert.throws(() => readJournal(written({ at: 1, pid: 9, event: 'end', images: [] }), parts), /none of ours/);
});
