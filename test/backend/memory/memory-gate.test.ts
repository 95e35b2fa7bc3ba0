import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createMemoryGate, type MemoryGateSettings } from '../../../backend/memory/memory-gate.js';
import { staleAfterMs } from '../../../backend/memory/memory-source.js';

/** A gate over 1000 bytes: without a level after warm-up, used bytes are thousandths of the head-room. */
function warmGate(settings: MemoryGateSettings = {}, base = 0) {
  const gate = createMemoryGate(settings);
  gate.warmedUp({ usedBytes: base, limitBytes: 1000, at: 0 });
  const take = (usedBytes: number, { held = 1, now = 0, limitBytes = 1000 } = {}) =>
    gate.take({ usedBytes, limitBytes, at: now }, held, now);
  return { gate, take, state: (usedBytes: number, more = {}) => take(usedBytes, more).state };
}

test('reading pauses at the upper threshold and goes on at the lower one, both included', () => {
  const { state } = warmGate();
  assert.deepEqual(
    [899, 900, 899, 801, 800, 801, 899, 900].map((used) => state(used)),
    ['open', 'paused', 'paused', 'paused', 'open', 'open', 'open', 'paused'],
  );
});

test('a level that swings between the thresholds changes nothing, in whichever state it began', () => {
  const { state } = warmGate();
  const swing = Array.from({ length: 20 }, (_, i) => (i % 2 ? 801 : 899));
  assert.deepEqual(new Set(swing.map((used) => state(used))), new Set(['open']));
  state(950);
  assert.deepEqual(new Set(swing.map((used) => state(used))), new Set(['paused']));
});

test('only the head-room that was left after warm-up counts', () => {
  const { take } = warmGate({}, 600);
  assert.deepEqual(take(600), { state: 'open', usedBytes: 600, limitBytes: 1000, fraction: 0 });
  assert.equal(take(950).state, 'open');
  assert.deepEqual(take(960), { state: 'paused', usedBytes: 960, limitBytes: 1000, fraction: 0.9 });
  assert.equal(take(920).state, 'open');
});

test('less than after warm-up is nothing taken', () => {
  assert.deepEqual(warmGate({}, 600).take(500), { state: 'open', usedBytes: 500, limitBytes: 1000, fraction: 0 });
});

test('a limit at or below the level after warm-up leaves no head-room: all of it is taken', () => {
  for (const base of [1000, 1200]) {
    for (const used of [900, 1000, 1300]) {
      const { state, fraction } = { fraction: undefined, ...warmGate({}, base).take(used) };
      assert.deepEqual([state, fraction], ['paused', 1], `${used} after ${base}`);
    }
  }
});

test('a limit that was raised meanwhile gives the head-room that it adds', () => {
  const { take } = warmGate();
  assert.equal(take(900).state, 'paused');
  assert.equal(take(900, { limitBytes: 2000 }).state, 'open');
});

test('a level that stays high while nothing is held is stuck after a while', () => {
  const { state } = warmGate({ stuckMs: 100 });
  assert.equal(state(950, { held: 0, now: 1000 }), 'paused');
  assert.equal(state(950, { held: 0, now: 1099 }), 'paused');
  assert.equal(state(950, { held: 0, now: 1100 }), 'stuck');
  assert.equal(state(950, { held: 0, now: 2000 }), 'stuck');
  assert.equal(state(800, { held: 0, now: 2001 }), 'open');
});

test('time during which something is held does not count towards stuck, and begins it anew', () => {
  const { state } = warmGate({ stuckMs: 100 });
  assert.equal(state(950, { held: 1, now: 0 }), 'paused');
  assert.equal(state(950, { held: 1, now: 5000 }), 'paused');
  assert.equal(state(950, { held: 0, now: 5050 }), 'paused');
  assert.equal(state(950, { held: 1, now: 5149 }), 'paused');
  assert.equal(state(950, { held: 0, now: 5150 }), 'paused');
  assert.equal(state(950, { held: 0, now: 5249 }), 'paused');
  assert.equal(state(950, { held: 0, now: 5250 }), 'stuck');
});

test('an idle process whose memory is in order is never stuck', () => {
  const { state } = warmGate({ stuckMs: 100 });
  for (const now of [0, 100, 1000, 100_000]) assert.equal(state(899, { held: 0, now }), 'open');
  // The time of the pause counts, not the time without work before it.
  assert.equal(state(950, { held: 0, now: 100_001 }), 'paused');
});

test('without a reading nothing is paused, and the reason is told', () => {
  const { gate, state } = warmGate();
  assert.equal(state(950), 'paused');
  assert.deepEqual(gate.take({ reason: 'no card' }, 0, 0), { state: 'unknown', reason: 'no card' });
  // What was known before is forgotten: below the pause it is open again.
  assert.equal(state(850), 'open');
});

test('a stale reading pauses nothing', () => {
  const { gate } = warmGate();
  const full = { usedBytes: 1000, limitBytes: 1000, at: 500 };
  assert.equal(gate.take(full, 1, 500 + staleAfterMs).state, 'paused');
  const level = gate.take(full, 1, 500 + staleAfterMs + 1);
  assert.deepEqual(level, { state: 'unknown', reason: 'the last reading is 10 s old' });
});

test('time without a reading does not count towards stuck', () => {
  const { gate, state } = warmGate({ stuckMs: 100 });
  state(950, { held: 0, now: 0 });
  gate.take({ reason: 'no card' }, 0, 50);
  assert.equal(state(950, { held: 0, now: 120 }), 'paused');
  assert.equal(state(950, { held: 0, now: 220 }), 'stuck');
});

test('before warm-up nothing is known', () => {
  const level = createMemoryGate().take({ usedBytes: 999, limitBytes: 1000, at: 0 }, 0, 0);
  assert.deepEqual(level, { state: 'unknown', reason: 'the level after warm-up is not known yet' });
});

test('thresholds that cannot be kept are refused', () => {
  const wrong = [
    { resumeAt: 0 },
    { resumeAt: -0.1 },
    { resumeAt: 0.9 },
    { pauseAt: 0.8 },
    { pauseAt: 1.01 },
    { pauseAt: Number.NaN },
  ];
  for (const settings of wrong) assert.throws(() => createMemoryGate(settings), RangeError, JSON.stringify(settings));
  createMemoryGate({ pauseAt: 1, resumeAt: 0.999 });
});
