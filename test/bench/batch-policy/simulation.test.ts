import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fixedWindow, ours } from './policies.js';
import { capacityOf, poissonArrivals, simulate, type DeviceCost } from './simulation.js';

const device: DeviceCost = { baseMs: 20, perImageMs: 2.5, maxBatch: 4 };
const run = (arrivals: readonly number[], policy = ours, deadlineMs = 2000) =>
  simulate({ device, policy, arrivals, deadlineMs });

test('by hand: the first runs at once, who came meanwhile run together, and no batch is beyond the limit', () => {
  // 0: one alone until 22.5; then the four oldest of five until 52.5; then the last until 75.
  const { latencies, batches, ran, busyMs, endedAt } = run([0, 1, 2, 3, 4, 5]);
  assert.deepEqual(latencies, [22.5, 51.5, 50.5, 49.5, 48.5, 70]);
  assert.deepEqual([batches, ran, busyMs, endedAt], [3, 6, 75, 75]);
});

test('by hand: a window waits for its end or a full batch, and not again for what waited while the device was busy', () => {
  // 0 and 4 close at 10 and run until 35; 20 has waited for longer than the window by then and runs until 57.5.
  assert.deepEqual(run([0, 4, 20], fixedWindow(10)).latencies, [35, 31, 37.5]);
  // Four are full at 3 and run until 33.
  assert.deepEqual(run([0, 1, 2, 3], fixedWindow(10)).latencies, [33, 32, 31, 30]);
});

test('a window of nothing decides as ours does', () => {
  const arrivals = poissonArrivals(5000, capacityOf(device) * 0.8, 7);
  assert.deepEqual(run(arrivals, fixedWindow(0)), run(arrivals));
});

test('whatever the load: all that came was answered, shed, dropped, or late', () => {
  for (const load of [0.1, 0.9, 1, 1.1, 3]) {
    for (const policy of [ours, fixedWindow(5), fixedWindow(20)]) {
      const arrivals = poissonArrivals(3000, capacityOf(device) * load, 11);
      const { latencies, shed, expired, late, ran } = run(arrivals, policy, 500);
      assert.equal(latencies.length + shed + expired + late, arrivals.length);
      assert.equal(latencies.length + late, ran);
      assert.ok(latencies.every((ms) => ms >= 22.5 && ms <= 500));
      assert.equal(shed > 0, load > 1, `shed ${String(shed)} at ${String(load)}`);
    }
  }
});

test('who would wait for more than 0.8 of the deadline is shed, and who has expired is not run', () => {
  // 100 ms for 8 at a time, 80 a second: in 80 ms, 0.8 of the deadline, it does 6.4.
  const eight: DeviceCost = { baseMs: 20, perImageMs: 10, maxBatch: 8 };
  assert.equal(capacityOf(eight), 80);
  const together = Array.from({ length: 10 }, () => 0);
  const shed = simulate({ device: eight, policy: ours, arrivals: together, deadlineMs: 100 });
  assert.deepEqual([shed.shed, shed.latencies.length], [3, 7]);
  // What is on the device still counts: beside it six more may be admitted.
  const beside = [0, 1, 1, 1, 1, 1, 1, 1];
  assert.equal(simulate({ device: eight, policy: ours, arrivals: beside, deadlineMs: 100 }).shed, 1);
  // The first takes 30 ms alone, longer than the second has.
  const short = simulate({ device: eight, policy: ours, arrivals: [0, 1], deadlineMs: 20 });
  assert.deepEqual([short.late, short.expired], [1, 1]);
});

test('Poisson arrivals come at the rate that was asked for, spread as they should be, and the same for a seed', () => {
  const arrivals = poissonArrivals(20_000, 100, 3);
  const gaps = arrivals.map((at, i) => at - (arrivals[i - 1] ?? 0));
  const mean = gaps.reduce((sum, gap) => sum + gap, 0) / gaps.length;
  const variance = gaps.reduce((sum, gap) => sum + (gap - mean) ** 2, 0) / gaps.length;
  assert.ok(Math.abs(mean - 10) < 0.3, String(mean));
  assert.ok(Math.abs(Math.sqrt(variance) / mean - 1) < 0.05, String(variance));
  assert.deepEqual(poissonArrivals(20_000, 100, 3), arrivals);
  assert.notDeepEqual(poissonArrivals(20_000, 100, 4), arrivals);
});
