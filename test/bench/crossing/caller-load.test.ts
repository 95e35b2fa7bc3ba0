import assert from 'node:assert/strict';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { test } from 'node:test';
import { callLoad } from './caller-load.js';

test('a load of so many tasks calls so many, from as many callers at once, and no two with the same bytes', async () => {
  const seen = new Set<string>();
  let [atOnce, most] = [0, 0];
  const report = await callLoad({ do: 'load', callers: 4, imageBytes: 16, until: { tasks: 30 } }, async (image) => {
    assert.equal(image.length, 16);
    seen.add(image.toString('hex'));
    most = Math.max(most, ++atOnce);
    await nextTurn();
    atOnce--;
  });
  assert.equal(report.tasks, 30);
  assert.equal(seen.size, 30);
  assert.equal(most, 4);
  assert.ok(report.p50Ms > 0 && report.p50Ms <= report.p99Ms);
});

test('a load of so many seconds goes on for them, and counts every task that it called', async () => {
  let called = 0;
  const report = await callLoad({ do: 'load', callers: 2, imageBytes: 16, until: { seconds: 0.05 } }, async () => {
    called++;
    await nextTurn();
  });
  assert.equal(report.tasks, called);
  assert.ok(called >= 2);
  assert.ok(report.seconds >= 0.05, String(report.seconds));
});

test('what one caller keeps of a picture is not changed by its next call', async () => {
  const kept: Buffer[] = [];
  await callLoad({ do: 'load', callers: 1, imageBytes: 8, until: { tasks: 3 } }, async (image) => {
    kept.push(image);
  });
  assert.deepEqual(
    kept.map((image) => image.readUInt32LE(0)),
    [0, 1, 2],
  );
});
