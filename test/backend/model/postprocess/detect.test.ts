import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { detect, overlap, type Corners, type DetectorOutput } from '../../../../backend/model/postprocess/detect.js';
import { simulatedManifest } from '../../../../backend/model/simulated-model.js';

const labels = ['boat', 'person'];
const input = { ...simulatedManifest().input, width: 100, height: 100 };
const square = { width: 100, height: 100 };
const everything = { minScore: 0.1, iou: 0.5, maxDetections: 100 };

type Candidate = readonly [corners: Corners, boat: number, person: number];

function output(...candidates: readonly Candidate[]): DetectorOutput {
  return {
    scores: Float32Array.from(candidates.flatMap(([, boat, person]) => [boat, person])),
    boxes: Float32Array.from(candidates.flatMap(([corners]) => [...corners])),
  };
}

test('overlap is the shared part of the joined area', () => {
  assert.equal(overlap([0, 0, 10, 10], [0, 0, 10, 10]), 1);
  assert.equal(overlap([0, 0, 10, 10], [5, 0, 15, 10]), 50 / 150);
  assert.equal(overlap([0, 0, 10, 10], [10, 0, 20, 10]), 0);
  assert.equal(overlap([0, 0, 10, 10], [20, 20, 30, 30]), 0);
  assert.equal(overlap([5, 5, 5, 5], [5, 5, 5, 5]), 0);
});

describe('of boxes that overlap', () => {
  const strong: Candidate = [[10, 10, 50, 50], 0, 0.9];
  const weak: Candidate = [[12, 10, 52, 50], 0, 0.8];
  const apart: Candidate = [[60, 60, 90, 90], 0, 0.5];

  test('the best of a label stays', () => {
    const found = detect(output(weak, strong, apart), { labels, input }, square, everything);
    assert.deepEqual(found, [
      { label: 'person', score: 0.9, box: [10, 10, 40, 40] },
      { label: 'person', score: 0.5, box: [60, 60, 30, 30] },
    ]);
  });

  test('another label stays too', () => {
    const boat: Candidate = [[12, 10, 52, 50], 0.8, 0];
    const found = detect(output(boat, strong), { labels, input }, square, everything);
    assert.deepEqual(
      found.map(({ label }) => label),
      ['person', 'boat'],
    );
  });

  test('one candidate may be two things', () => {
    assert.equal(detect(output([[10, 10, 50, 50], 0.7, 0.6]), { labels, input }, square, everything).length, 2);
  });

  test('a box only hides what overlaps with it, not what overlaps with what it hid', () => {
    const chain = [0, 30, 60].map((x, index): Candidate => [[x, 0, x + 80, 80], 0, 0.9 - index / 10]);
    const found = detect(
      output(...chain),
      { labels, input: { ...input, width: 200 } },
      { width: 200, height: 100 },
      { ...everything, iou: 0.4 },
    );
    assert.deepEqual(
      found.map(({ box }) => box[0]),
      [0, 60],
    );
  });

  test('iou says how much is too much', () => {
    assert.equal(detect(output(strong, weak), { labels, input }, square, { ...everything, iou: 0.95 }).length, 2);
  });
});

test('minScore and maxDetections bound the list, the best stay', () => {
  const row = [0, 20, 40, 60, 80].map((x, index): Candidate => [[x, 0, x + 10, 10], 0, 0.5 + index / 10]);
  const found = detect(output(...row), { labels, input }, square, { minScore: 0.65, iou: 0.5, maxDetections: 2 });
  assert.deepEqual(
    found.map(({ box }) => box[0]),
    [80, 60],
  );
  assert.equal(detect(output(...row), { labels, input }, square, { ...everything, minScore: 0.65 }).length, 3);
});

describe('boxes are in pixels of the original', () => {
  const whole = output([[10, 20, 60, 90], 0, 1]);
  const boxIn = (fit: 'fill' | 'cover' | 'contain', width: number, height: number): unknown =>
    detect(whole, { labels, input: { ...input, fit } }, { width, height }, everything)[0]?.box;

  test('stretched: each axis by its own factor', () => {
    assert.deepEqual(boxIn('fill', 400, 200), [40, 40, 200, 140]);
  });

  test('contained: without the margins', () => {
    // 400 × 200 fits as 100 × 50 below a margin of 25.
    assert.deepEqual(boxIn('contain', 400, 200), [40, 0, 200, 200]);
  });

  test('covered: with what was cut off', () => {
    // 400 × 200 covers as 200 × 100, 50 cut off left and right.
    assert.deepEqual(boxIn('cover', 400, 200), [120, 40, 100, 140]);
  });

  test('clamped to it, in tenths of a pixel', () => {
    const beyond = output([[-5, -5, 33.333, 120], 0, 1]);
    assert.deepEqual(
      detect(beyond, { labels, input }, { width: 50, height: 50 }, everything)[0]?.box,
      [0, 0, 16.7, 50],
    );
  });
});
