import assert from 'node:assert/strict';
import { test } from 'node:test';
import { faultOf, type Fault } from '../../backend/fault.js';
import { RunLimitError } from '../../backend/run-limit.js';
import { Failure } from '../../contracts/failure.js';
import { testRedis } from '../redis.js';

const redis = await testRedis();

const cases: readonly [fault: Fault, error: unknown][] = [
  ['input', new Failure('image_unreadable', 'the scan ends early')],
  ['model', new Error('Non-zero status code returned while running Reshape node')],
  ['model', 'something that is no error'],
  ['model', new Error('')],
  ['device_memory', new Error('CUDA failure 2: out of memory ; GPU=0 ; expr=cudaMalloc')],
  ['device_memory', new Error('Failed to allocate memory for requested buffer of size 123')],
  ['device_memory', new Error('Available memory of 1 is smaller than requested bytes of 2')],
  ['device_memory', new Error('CUBLAS failure 3: CUBLAS_STATUS_ALLOC_FAILED')],
  ['device_memory', new Error('std::bad_alloc')],
  ['device', new Error('CUDA failure 700: an illegal memory access was encountered ; GPU=0')],
  ['device', new Error('CUDA failure 214: uncorrectable ECC error encountered')],
  ['device', new Error('the WebGPU device was lost')],
  ['device', new Error('the worker thread of the device ended with code 134')],
  ['device', new RunLimitError('a run took longer than allowed')],
];

for (const [fault, error] of cases) {
  test(`"${String(error).slice(0, 70)}" is the fault of: ${fault}`, () => {
    assert.equal(faultOf(error), fault);
  });
}

test('what Redis refuses, and a connection that breaks, is the fault of Redis', async () => {
  const client = redis.client();
  await client.set('text', 'x');
  assert.equal(faultOf(await client.hget('text', 'field').catch((error: unknown) => error)), 'redis');
  client.disconnect();
  assert.equal(faultOf(await client.get('text').catch((error: unknown) => error)), 'redis');
});
