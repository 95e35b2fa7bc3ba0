import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';

test('a part whose clock is off sees another time everywhere but in its monotonic clock', () => {
  const program = `
    const { performance: own } = await import('node:perf_hooks');
    console.log(JSON.stringify([Date.now(), +new Date(), Date.parse(Date() ), own.timeOrigin + own.now(), +new Date(5),
      new Date() instanceof Date, process.hrtime()[0]]));`;
  const run = (offsetMs: number) => {
    const args = ['--import', new URL('./clock-offset.js', import.meta.url).href, '--input-type=module', '-e', program];
    const env = { ...process.env, SAMPAN_TEST_CLOCK_OFFSET_MS: String(offsetMs) };
    return JSON.parse(execFileSync(process.execPath, args, { env, encoding: 'utf8' })) as unknown[];
  };
  const offBy = 600_000;
  const before = Date.now();
  const [now, date, text, origin, given, isDate, monotonic] = run(offBy);
  for (const time of [now, date, text, origin]) {
    // A text of a date has no milliseconds, and a child takes its time to start.
    assert.ok(Number(time) - before >= offBy - 1_000 && Number(time) - before < offBy + 60_000, String(time));
  }
  assert.deepEqual([given, isDate], [5, true]);
  assert.ok(Math.abs(Number(monotonic) - process.hrtime()[0]) < 60);
  assert.ok(Math.abs(Number(run(0)[0]) - Date.now()) < 60_000);
});
