import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseExposition } from '../../exposition.js';
import { accountBetween } from './device-account.js';

const exposition = (label: string, { runs, images, full }: { runs: number; images: number; full: number }) => `
batch_size_bucket{${label}closed="full",le="1"} 0
batch_size_bucket{${label}closed="full",le="8"} ${full}
batch_size_bucket{${label}closed="full",le="+Inf"} ${full}
batch_size_count{${label}closed="full"} ${full}
batch_size_sum{${label}closed="full"} ${8 * full}
batch_size_bucket{${label}closed="device_free",le="1"} ${runs - full}
batch_size_bucket{${label}closed="device_free",le="8"} ${runs - full}
batch_size_bucket{${label}closed="device_free",le="+Inf"} ${runs - full}
batch_size_count{${label}closed="device_free"} ${runs - full}
batch_size_sum{${label}closed="device_free"} ${images - 8 * full}
infer_seconds_sum{${label}} ${runs / 10}
decode_seconds_sum{${label}} ${images / 100}
decode_seconds_count{${label}} ${images}
`;

test('what a device did is what its metrics grew by, over all reasons why batches were closed', () => {
  const before = parseExposition(exposition('model="nsfw",', { runs: 5, images: 19, full: 2 }));
  const after = parseExposition(exposition('model="nsfw",', { runs: 25, images: 109, full: 12 }));
  const account = accountBetween(before, after, 'nsfw');
  assert.equal(account.images, 90);
  assert.equal(account.batches, 20);
  assert.equal(account.seconds.toFixed(6), '2.000000');
  assert.equal(account.decodeSeconds.toFixed(6), '0.010000');
  assert.deepEqual(account.sizes, [
    { atMost: 1, batches: 10 },
    { atMost: 8, batches: 10 },
  ]);
});

test('other models of the same process do not count, and series may appear meanwhile', () => {
  const other = (full: number) => exposition('model="coco",', { runs: 9 + full, images: 90, full });
  const after = parseExposition(other(5) + exposition('model="nsfw",', { runs: 1, images: 1, full: 0 }));
  const account = accountBetween(parseExposition(other(1)), after, 'nsfw');
  assert.deepEqual([account.images, account.batches, account.sizes], [1, 1, [{ atMost: 1, batches: 1 }]]);
  assert.equal(account.seconds, 0.1);
});
