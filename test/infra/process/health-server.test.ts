import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { after, test } from 'node:test';
import { startHealthServer, type HealthServer } from '../../../infra/process/health-server.js';

const state = { live: true, reasons: ['models are loading'] };
const server: HealthServer = await startHealthServer({
  host: '127.0.0.1',
  port: 0,
  live: () => state.live,
  ready: () => ({ ready: state.reasons.length === 0, reasons: state.reasons }),
  describe: () => ({ models: ['coco'] }),
});
after(() => server.close());

async function get(path: string, method = 'GET'): Promise<{ status: number; body: string }> {
  const response = await fetch(server.url + path, { method });
  return { status: response.status, body: await response.text() };
}

test('a process that is not ready answers 503 and says why, and 200 once it is', async () => {
  state.reasons = ['models are loading', 'Redis is away'];
  const before = await get('/readyz');
  assert.equal(before.status, 503);
  assert.deepEqual(JSON.parse(before.body), { status: 'not ready', reasons: state.reasons, models: ['coco'] });
  state.reasons = [];
  const then = await get('/readyz?verbose');
  assert.equal(then.status, 200);
  assert.deepEqual(JSON.parse(then.body), { status: 'ready', reasons: [], models: ['coco'] });
});

test('a process that is not ready is still live', async () => {
  state.reasons = ['draining'];
  assert.equal((await get('/healthz')).status, 200);
  state.live = false;
  assert.equal((await get('/healthz')).status, 503);
  state.live = true;
});

test('HEAD answers as GET does, without a body', async () => {
  state.reasons = [];
  assert.deepEqual(await get('/readyz', 'HEAD'), { status: 200, body: '' });
});

test('other paths are not found and other methods are not allowed', async () => {
  assert.equal((await get('/')).status, 404);
  assert.equal((await get('/healthz/')).status, 404);
  assert.equal((await get('/healthz', 'POST')).status, 405);
});

test('a port in use is told in words that name it', async () => {
  const port = Number(new URL(server.url).port);
  const second = startHealthServer({
    host: '127.0.0.1',
    port,
    live: () => true,
    ready: () => ({ ready: true, reasons: [] }),
  });
  await assert.rejects(second, { message: `health server: port ${port} on 127.0.0.1 is in use by another program` });
});

test('a closed server can be started again on its port at once, although a client is halfway through a request', async () => {
  const options = { host: '127.0.0.1', live: () => true, ready: () => ({ ready: true, reasons: [] }) };
  const first = await startHealthServer({ ...options, port: 0 });
  const port = Number(new URL(first.url).port);
  const client = connect({ port, host: '127.0.0.1' });
  const ended = new Promise((resolve) => client.once('close', resolve));
  await new Promise((resolve) => client.write('GET /healthz HTTP/1.1\r\nhost: half\r\n', resolve));
  // Answered after the half request arrived, on a connection of its own that is then kept alive.
  await fetch(`${first.url}/healthz`).then((response) => response.text());
  await first.close();
  await ended;
  const second = await startHealthServer({ ...options, port });
  assert.equal(second.url, first.url);
  await second.close();
});
