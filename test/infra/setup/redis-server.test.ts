import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { askVersion, findRedisServer } from '../../../infra/setup/redis-server.js';
import { serverBinary } from '../../redis.js';

const binary = await serverBinary();
const dir = mkdtempSync(join(tmpdir(), 'sampan-test-'));
after(() => rmSync(dir, { recursive: true }));

function program(name: string, output: string): string {
  const path = join(dir, name);
  writeFileSync(path, `#!/bin/sh\necho '${output}'\n`, { mode: 0o755 });
  return path;
}

test('the program that is used here tells its version', async () => {
  const server = await askVersion(binary);
  assert.ok(Number.parseInt(server?.version ?? '', 10) >= 7);
});

test('Valkey is known by its name, a version before 7.0 is not taken, and neither is a stranger', async () => {
  const valkey = program('valkey', 'Valkey server v=8.1.3 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64');
  assert.deepEqual(await askVersion(valkey), { binary: valkey, product: 'Valkey', version: '8.1.3' });
  assert.equal(await askVersion(program('old', 'Redis server v=6.2.16 sha=0')), undefined);
  assert.equal(await askVersion(program('other', 'something else')), undefined);
  assert.equal(await askVersion(join(dir, 'nothing-here')), undefined);
});

test('PATH comes first, and a program that is too old is passed over', async () => {
  const [old, good] = [join(dir, 'a'), join(dir, 'b')];
  for (const folder of [old, good]) mkdirSync(folder);
  symlinkSync(program('six', 'Redis server v=6.0.16 sha=0'), join(old, 'redis-server'));
  symlinkSync(binary, join(good, 'valkey-server'));
  const found = await findRedisServer(`${old}:${good}`, join(dir, 'cache'));
  assert.equal(found?.binary, join(good, 'valkey-server'));
});

test('a server that was unpacked earlier is found in the cache folder', async () => {
  const cache = join(dir, 'unpacked');
  mkdirSync(cache);
  symlinkSync(binary, join(cache, 'redis-server'));
  const found = await findRedisServer('', cache, []);
  assert.equal(found?.binary, join(cache, 'redis-server'));
  assert.equal(await findRedisServer('', join(dir, 'empty'), []), undefined);
});
