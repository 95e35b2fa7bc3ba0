import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:net';
import { test } from 'node:test';
import { freePort } from '../../../infra/setup/free-port.js';

test('a preferred port is given when it is free, and stepped around when it is occupied or given away', async () => {
  const wanted = await freePort();
  assert.equal(await freePort(wanted), wanted);

  const server = createServer().listen(wanted, '127.0.0.1');
  await once(server, 'listening');
  const beside = await freePort(wanted);
  assert.ok(beside > wanted, `${beside} lies beside ${wanted}`);
  assert.notEqual(await freePort(wanted, new Set([beside])), beside);
  server.close();
});

test('what is given can be listened on', async () => {
  const server = createServer().listen(await freePort(), '127.0.0.1');
  await once(server, 'listening');
  server.close();
});
