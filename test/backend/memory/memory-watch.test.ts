import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import type { MemoryReading, MemorySource, NoReading } from '../../../backend/memory/memory-source.js';
import { startMemoryWatch, type MemoryWatch, type MemoryWatchOptions } from '../../../backend/memory/memory-watch.js';
import { memoryLimit, processMemory } from '../../../backend/memory/process-memory.js';
import { until } from '../../integration/system.js';

const watches: MemoryWatch[] = [];
after(() => {
  for (const watch of watches) watch.stop();
});

/** A watch over a source and a clock that the test turns. */
function watchOver(first: number | NoReading, more: Partial<MemoryWatchOptions> = {}) {
  const turned = { clock: 1000, used: first, held: 1, stops: 0, replaced: 0, looks: 0 };
  const read = (): MemoryReading | NoReading => {
    turned.looks++;
    return typeof turned.used === 'number'
      ? { usedBytes: turned.used, limitBytes: 1100, at: turned.clock }
      : turned.used;
  };
  const source: MemorySource = { name: 'turned', read, stop: () => turned.stops++ };
  const watch = startMemoryWatch({
    ...{ source, held: () => turned.held, now: () => turned.clock, everyMs: 2 },
    onReplace: () => turned.replaced++,
    ...more,
  });
  watches.push(watch);
  /** Resolves when the source has been looked at, and judged, since this was called. */
  const looked = () => {
    const { looks } = turned;
    return until(
      () => turned.looks,
      (count) => count > looks + 1,
    );
  };
  return { turned, watch, looked };
}

test('the first reading is the level that later ones are measured against', async () => {
  const { turned, watch, looked } = watchOver(100);
  assert.deepEqual([watch.source, watch.paused], ['turned', false]);
  assert.deepEqual(watch.level, { state: 'open', usedBytes: 100, limitBytes: 1100, fraction: 0 });
  turned.used = 600;
  await looked();
  assert.deepEqual(watch.level, { state: 'open', usedBytes: 600, limitBytes: 1100, fraction: 0.5 });
});

test('a reading from before the watch is not the level after warm-up', async () => {
  const { turned, watch, looked } = watchOver({ reason: 'not yet' });
  assert.deepEqual(watch.level, { state: 'unknown', reason: 'not yet' });
  const old = { usedBytes: 10, limitBytes: 1100, at: 999 };
  const { watch: other } = watchOver(0, { source: { name: 'old', read: () => old, stop: () => undefined } });
  assert.deepEqual(other.level, { state: 'unknown', reason: 'the level after warm-up is not known yet' });
  turned.used = 1099;
  await looked();
  assert.equal(watch.level.state, 'open');
});

test('each change of the state is told once, with the level', async () => {
  const { turned, watch, looked } = watchOver(100);
  const told: string[] = [];
  watch.onChange((level) => told.push(level.state));
  watch.onChange(() => told.push(String(watch.paused)));
  await looked();
  for (const used of [1050, 1000, 300, { reason: 'gone' }, 200]) {
    turned.used = used;
    await looked();
  }
  assert.deepEqual(told, ['paused', 'true', 'open', 'false', 'unknown', 'false', 'open', 'false']);
});

test('a process that cannot get back under is replaced, once, and stays paused', async () => {
  const { turned, watch, looked } = watchOver(100, { gate: { stuckMs: 5000 } });
  turned.used = 1100;
  await looked();
  turned.clock += 60_000;
  await looked();
  assert.deepEqual([turned.replaced, watch.paused], [0, true], 'while it holds tasks');
  turned.held = 0;
  await looked();
  turned.clock += 5000;
  await until(
    () => watch.level.state,
    (state) => state === 'stuck',
  );
  await looked();
  assert.deepEqual([turned.replaced, watch.paused], [1, true]);
  turned.used = 100;
  await looked();
  turned.used = 1100;
  await looked();
  turned.clock += 5000;
  await until(
    () => watch.level.state,
    (state) => state === 'stuck',
  );
  assert.equal(turned.replaced, 1);
});

test('what is stopped looks no more, and stops its source', async () => {
  const { turned, watch, looked } = watchOver(100);
  await looked();
  watch.stop();
  const { looks } = turned;
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.deepEqual([turned.looks, turned.stops], [looks, 1]);
});

test('settings that contradict each other are refused at the start', () => {
  assert.throws(() => watchOver(100, { gate: { pauseAt: 0.5 } }), RangeError);
});

test("this process's own memory pauses it when it takes what it may, and only then", async () => {
  const room = 200 * 1024 * 1024;
  const limitBytes = process.memoryUsage.rss() + room;
  const { watch } = watchOver(0, {
    source: processMemory({ limitBytes, now: () => performance.now() }),
    now: () => performance.now(),
  });
  assert.equal(watch.level.state, 'open');
  const taken = Buffer.alloc(room, 1);
  const level = await until(
    () => watch.level,
    ({ state }) => state === 'paused',
  );
  assert.ok(level.state === 'paused' && level.usedBytes > taken.length && level.limitBytes === limitBytes);
});

test('the limit is what was configured, else the share of the container, else that of the host', () => {
  const container = { constrainedBytes: 8e9, totalBytes: 16e9 };
  assert.deepEqual(memoryLimit({ ...container, configuredBytes: 5e8, processes: 2 }), {
    bytes: 5e8,
    from: 'configuration',
  });
  assert.deepEqual(memoryLimit(container), { bytes: 8e9, from: 'container' });
  assert.deepEqual(memoryLimit({ ...container, processes: 4 }), { bytes: 2e9, from: 'container' });
  for (const constrainedBytes of [0, 16e9, 2 ** 63, 2 ** 64]) {
    assert.deepEqual(memoryLimit({ constrainedBytes, totalBytes: 16e9 }), { bytes: 16e9, from: 'host' });
  }
  const here = memoryLimit();
  assert.ok(here.bytes > process.memoryUsage.rss() && here.bytes < 2 ** 50, `${here.bytes} of the ${here.from}`);
});
