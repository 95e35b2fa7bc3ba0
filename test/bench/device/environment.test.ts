import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deviceEnvironment } from './environment.js';

test('what sizes the parts and what the runtime of a GPU looks for is passed on, and nothing else', () => {
  const wanted = {
    SAMPAN_DEVICE: 'cuda',
    CUDA_VISIBLE_DEVICES: '1',
    LD_LIBRARY_PATH: '/opt/cuda',
    UV_THREADPOOL_SIZE: '8',
  };
  const other = {
    SAMPAN_DEVICE_INDEX: '',
    SAMPAN_CACHE: 'off',
    REDIS_URL: 'redis://elsewhere',
    XCUDA_HOME: '/x',
    PATH: '/bin',
  };
  assert.deepEqual(deviceEnvironment({ ...wanted, ...other, VK_DRIVER_FILES: undefined }), wanted);
});
