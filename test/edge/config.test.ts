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

test('traces are kept only where that is asked for', () => {
  assert.equal(loadConfig(least).traceStore, false);
  assert.equal(loadConfig({ ...least, SAMPAN_TRACE_STORE: 'on' }).traceStore, true);
  assert.throws(() => loadConfig({ ...least, SAMPAN_TRACE_STORE: 'yes' }), /SAMPAN_TRACE_STORE: expected on or off/);
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

test('without keys the edge serves this host alone, unless it is told to be open', () => {
  assert.equal(loadConfig(least).auth, false);
  assert.equal(loadConfig({ ...least, SAMPAN_AUTH: 'on' }).auth, true);
  for (const host of ['0.0.0.0', '::', '192.0.2.7', 'edge.test']) {
    const there = { ...least, SAMPAN_HOST: host };
    for (const env of [there, { ...there, SAMPAN_AUTH: 'off' }]) assert.throws(() => loadConfig(env), /SAMPAN_AUTH/);
    assert.equal(loadConfig({ ...there, SAMPAN_AUTH: 'on' }).auth, true);
    assert.equal(loadConfig({ ...there, SAMPAN_AUTH: 'open' }).auth, false);
  }
});

test('tiers are read as JSON, and what would limit nothing is refused', () => {
  assert.deepEqual(Object.keys(loadConfig(least).tiers), ['free', 'standard', 'premium']);
  const tiers = (text: string) => loadConfig({ ...least, SAMPAN_TIERS: text }).tiers;
  assert.deepEqual(tiers('{"gold":{"perSecond":7}}'), { gold: { perSecond: 7 } });
  for (const text of [
    '{',
    '[]',
    '{"gold":{"burst":7}}',
    '{"gold":{"perSecond":0}}',
    '{"gold":{"rate":1}}',
    '{"G":{}}',
  ]) {
    assert.throws(() => tiers(text), /SAMPAN_TIERS/, text);
  }
});

test('tokens are verified in one way, and those for other services are refused', () => {
  const secret = { SAMPAN_JWT_SECRET: 'a secret of thirty-two characters' };
  const keys = { SAMPAN_JWKS_URL: 'https://login.test/keys', SAMPAN_JWT_AUDIENCE: 'us' };
  assert.equal(loadConfig({ ...least, ...keys }).jwt.jwksUrl, keys.SAMPAN_JWKS_URL);
  assert.throws(() => loadConfig({ ...least, ...secret, ...keys }), /exclude each other/);
  assert.throws(() => loadConfig({ ...least, SAMPAN_JWT_SECRET: 'short' }), /32 characters/);
  assert.throws(() => loadConfig({ ...least, SAMPAN_JWKS_URL: keys.SAMPAN_JWKS_URL }), /SAMPAN_JWT_AUDIENCE/);
  assert.throws(() => loadConfig({ ...least, ...keys, SAMPAN_JWKS_URL: 'http://login.test/keys' }), /https/);
});

test('origins are taken as browsers write them, and those that would never match are named', () => {
  const origins = (text: string) => loadConfig({ ...least, SAMPAN_CORS_ORIGINS: text }).corsOrigins;
  assert.deepEqual(loadConfig(least).corsOrigins, []);
  assert.deepEqual(origins('*'), ['*']);
  const good = ['https://app.test', 'http://localhost:3000', 'http://[::1]:8080', 'chrome-extension://abc'];
  assert.deepEqual(origins(good.join(' , ')), good);
  const wrong = [
    ...['https://app.test/', 'https://app.test/x', 'https://app.test?x', 'https://app.test#x', 'app.test', 'null'],
    ...['https://App.test', 'https://app.test:443', 'http://app.test:80', 'https://me@app.test', 'https://', '//x'],
    ...['https://*.app.test/', '*'],
  ];
  for (const one of wrong) {
    assert.throws(
      () => origins(`https://good.test,${one}`),
      (error) => {
        assert.ok(error instanceof Error);
        assert.match(error.message, /^SAMPAN_CORS_ORIGINS: expected .* not "/);
        assert.ok(error.message.endsWith(`not "${one}"`), error.message);
        return true;
      },
    );
  }
});
