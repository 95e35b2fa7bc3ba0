import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulatedManifest } from '../../backend/model/simulated-model.js';
import { Failure } from '../../contracts/failure.js';
import { canonicalParams, parseParams } from '../../contracts/params.js';
import { seededRandom } from '../random.js';

const classify = simulatedManifest({ task: 'classify', thresholds: { top: 5, minScore: 0 } });
const detect = simulatedManifest({ task: 'detect', thresholds: { minScore: 0.3, iou: 0.5, maxDetections: 100 } });

function refusal(manifest: typeof classify, given: Record<string, unknown>): string {
  try {
    const params = parseParams(manifest, given);
    assert.fail(`read as ${JSON.stringify(params)}`);
  } catch (error) {
    assert.ok(error instanceof Failure, String(error));
    assert.equal(error.code, 'invalid_params');
    return error.detail;
  }
}

test('defaults of the manifest fill in what a request leaves out, of its own task alone', () => {
  assert.deepEqual(parseParams(classify, {}), { top: 5, minScore: 0 });
  assert.deepEqual(parseParams(detect, { iou: '0.7' }), { minScore: 0.3, iou: 0.7, maxDetections: 100 });
  assert.deepEqual(parseParams(simulatedManifest({ task: 'embed', thresholds: { minScore: 0.3 } }), {}), {});
});

test('equal parameters have one spelling, in whatever order and form they come', () => {
  const { shuffled } = seededRandom(10);
  const given: [string, unknown][] = [
    ['minScore', '0.50'],
    ['iou', 0.7],
    ['maxDetections', '007'],
  ];
  const spellings = Array.from({ length: 30 }, () =>
    canonicalParams(parseParams(detect, Object.fromEntries(shuffled(given)))),
  );
  assert.deepEqual([...new Set(spellings)], ['iou=0.7&maxDetections=7&minScore=0.5']);
  assert.equal(
    canonicalParams(parseParams(detect, { minScore: '-0' })),
    canonicalParams(parseParams(detect, { minScore: 0 })),
  );
});

test('a default that is spelled out is the default', () => {
  assert.equal(canonicalParams(parseParams(classify, { top: '5' })), canonicalParams(parseParams(classify, {})));
});

test('different parameters have different spellings', () => {
  const spellings = [1, 2, 3, 10, 100, 1000].flatMap((top) =>
    ['0', '0.1', '0.10000001', '1'].map((minScore) => canonicalParams(parseParams(classify, { top, minScore }))),
  );
  assert.equal(new Set(spellings).size, 24);
});

const wrongNumbers = [
  '1e3',
  '',
  ' ',
  ' 1',
  '1 ',
  '+1',
  '.5',
  '1.',
  '0x10',
  '1_000',
  'NaN',
  '١',
  NaN,
  Infinity,
  true,
  null,
  [],
  [1],
  {},
];

for (const wrong of wrongNumbers) {
  const text = typeof wrong === 'string' ? `"${wrong}"` : JSON.stringify(wrong) + ` (${typeof wrong})`;
  test(`${text} is no number, and the refusal names the field`, () => {
    assert.match(refusal(classify, { top: wrong }), /^top: ./);
    assert.match(refusal(classify, { minScore: wrong }), /^minScore: ./);
  });
}

test('a value out of its range is refused, and the refusal names the field', () => {
  for (const top of [0, '0', -1, 1001, 1.5, '1.5', 2 ** 60]) assert.match(refusal(classify, { top }), /^top: ./);
  for (const minScore of [-0.01, 1.01, '-1', '2']) assert.match(refusal(classify, { minScore }), /^minScore: ./);
});

test('an unknown parameter is refused by name, with those that are allowed', () => {
  assert.match(refusal(detect, { top: 3 }), /unknown parameter "top"; allowed are minScore, iou, maxDetections/);
  assert.match(refusal(simulatedManifest({ task: 'caption' }), { top: 3 }), /this task takes none/);
  const hostile: Record<string, unknown> = JSON.parse('{"__proto__":1,"constructor":2,"toString":3}');
  assert.match(refusal(classify, hostile), /"__proto__", "constructor", "toString"/);
  assert.ok(refusal(classify, { ['x'.repeat(1e6)]: 1 }).length < 300);
});
