import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { boundedLog } from '../../../infra/setup/bounded-log.js';

test('a log takes at most twice its limit, however much is written, and its last lines stay at hand', () => {
  const dir = mkdtempSync(join(tmpdir(), 'sampan-test-'));
  try {
    const path = join(dir, 'log');
    const log = boundedLog(path, 1_000);
    for (let line = 1; line <= 500; line += 1) log.write(Buffer.from(`line ${line}\n`));
    log.close();
    assert.ok(statSync(path).size <= 1_000 && statSync(`${path}.1`).size <= 1_000);
    assert.match(readFileSync(path, 'utf8'), /line 500\n$/);
    assert.equal(log.lastLines().length, 20);
    assert.equal(log.lastLines().at(-1), 'line 500');
  } finally {
    rmSync(dir, { recursive: true });
  }
});
