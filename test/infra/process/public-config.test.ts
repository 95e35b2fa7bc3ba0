import assert from 'node:assert/strict';
import { test } from 'node:test';
import { loadConfig } from '../../../edge/config.js';
import { publicConfig } from '../../../infra/process/public-config.js';

test('what may be printed holds no credentials', () => {
  const printed = publicConfig(
    loadConfig({ REDIS_URL: 'redis://user:secret@host:1/2', CACHE_REDIS_URL: 'rediss://:other@cache?password=third' }),
  );
  assert.equal(printed.redisUrl, 'redis://host:1/2');
  assert.doesNotMatch(JSON.stringify(printed), /secret|other|third|user/);
});
