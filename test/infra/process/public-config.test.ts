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

test('of tokens neither the secret nor what a URL of keys holds is printed', () => {
  const REDIS_URL = 'redis://host:1';
  const jwtSecret = 'a secret of thirty-two characters';
  assert.doesNotMatch(JSON.stringify(publicConfig(loadConfig({ REDIS_URL, SAMPAN_JWT_SECRET: jwtSecret }))), /thirty/);
  const keys = { SAMPAN_JWKS_URL: 'https://me:hidden@login.test/keys?code=hidden', SAMPAN_JWT_AUDIENCE: 'us' };
  const { jwt } = publicConfig(loadConfig({ REDIS_URL, ...keys }));
  assert.equal(jwt.jwksUrl, 'https://login.test/keys');
});
