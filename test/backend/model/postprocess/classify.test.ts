import assert from 'node:assert/strict';
import { test } from 'node:test';
import { classify } from '../../../../backend/model/postprocess/classify.js';
import { tag } from '../../../../backend/model/postprocess/tag.js';

const labels = ['ant', 'bee', 'cat', 'dog'];
const scores = Float32Array.of(0.1, 0.2, 0.6, 0.1);

test('classes come best first', () => {
  assert.deepEqual(
    classify(scores, labels, {}).map(({ label }) => label),
    ['cat', 'bee', 'ant', 'dog'],
  );
});

test('top and minScore each shorten the list', () => {
  assert.deepEqual(classify(scores, labels, { top: 1 }), [{ label: 'cat', score: 0.6 }]);
  assert.deepEqual(
    classify(scores, labels, { top: 4, minScore: 0.2 }).map(({ label }) => label),
    ['cat', 'bee'],
  );
});

test('rounding keeps the sum at 1', () => {
  const thousand = Array.from({ length: 1000 }, (_, index) => `label ${String(index)}`);
  const even = classify(
    Float32Array.from({ length: 1000 }, () => 0.001),
    thousand,
    {},
  );
  assert.ok(Math.abs(even.reduce((sum, { score }) => sum + score, 0) - 1) < 1e-3);
});

test('tags are those that reach the threshold', () => {
  const likelihoods = Float32Array.of(0.9, 0.35, 0.95, 0.3);
  assert.deepEqual(tag(likelihoods, labels, { minScore: 0.35 }), [
    { label: 'cat', score: 0.95 },
    { label: 'ant', score: 0.9 },
    { label: 'bee', score: 0.35 },
  ]);
});
