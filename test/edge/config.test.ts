import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../edge/config.js';

const least = { REDIS_URL: 'redis://127.0.0.1:6379' };

test('only the stream has to be named; everything else has a default', () => {
  const config = loadConfig(least);
  assert.equal(config.port, 8787);
  assert.equal(config.maxBodyBytes, 10 * 1024 * 1024);
  assert.equal(config.cacheRedisUrl, least.REDIS_URL);
  assert.equal(config.cache, true);
  assert.equal(config.lookupMd5Only, false);
});

test('a variable that is set to nothing counts as not set', () => {
  assert.equal(loadConfig({ ...least, PORT: '' }).port, 8787);
});

test('every variable that is missing or wrong is named, each on its own line', () => {
  assert.throws(
    () => loadConfig({ PORT: '70000', SAMPAN_MAX_PIXELS: 'many', SAMPAN_CACHE: 'maybe' }),
    (error) => {
      assert.ok(error instanceof Error);
      const lines = error.message.split('\n').sort();
      assert.deepEqual(lines, [
        'PORT: must be at most 65535',
        'REDIS_URL: is required, such as redis://127.0.0.1:6379',
        'SAMPAN_CACHE: expected on or off',
        'SAMPAN_MAX_PIXELS: expected a whole number from 1 to 1000000000',
      ]);
      return true;
    },
  );
});

test('a default timeout above the greatest timeout is refused', () => {
  assert.throws(
    () => loadConfig({ ...least, SAMPAN_DEFAULT_TIMEOUT_MS: '2000', SAMPAN_MAX_TIMEOUT_MS: '1000' }),
    /SAMPAN_DEFAULT_TIMEOUT_MS: must not be greater than SAMPAN_MAX_TIMEOUT_MS/,
  );
});

test('the configuration cannot be changed', () => {
  assert.ok(Object.isFrozen(loadConfig(least)));
});
