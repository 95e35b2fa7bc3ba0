import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import sharp from 'sharp';
import { keysLeft, testRedis } from '../redis.js';
import { bodyOf, serveModels, testConfig, toyManifest } from './edge-under-test.js';
import { startEdge } from '../../edge/node-server.js';

const stream = await testRedis();
const client = new Redis(stream.url);
client.on('error', () => undefined);
after(() => client.disconnect());
await serveModels(client, [toyManifest]);
const image = await sharp({ create: { width: 30, height: 20, channels: 3, background: 'red' } })
  .jpeg()
  .toBuffer();
const silent = pino({ level: 'silent' });
const onAnyPort = (more: Record<string, string> = {}) =>
  testConfig({ REDIS_URL: stream.url, PORT: '0', METRICS_PORT: '0', ...more });
const script = join(import.meta.dirname, '..', '..', 'edge', 'node.js');

const predict = (url: string, timeoutMs: number) =>
  fetch(`${url}/v1/models/toy/predict`, {
    ...{ method: 'POST', body: bodyOf(image), headers: { 'x-timeout-ms': String(timeoutMs) } },
  });

function startProcess(env: Record<string, string>): { child: ChildProcess; said: () => string } {
  const child = spawn(process.execPath, [script], { env: { PATH: process.env['PATH'], ...env } });
  let text = '';
  child.stdout.on('data', (chunk) => (text += String(chunk)));
  child.stderr.on('data', (chunk) => (text += String(chunk)));
  after(() => child.kill('SIGKILL'));
  return { child, said: () => text };
}

async function untilListening(said: () => string, child: ChildProcess): Promise<string> {
  for (;;) {
    const line = said()
      .split('\n')
      .find((one) => one.includes('"msg":"listening"'));
    if (line) return String(JSON.parse(line).url);
    if (child.exitCode !== null) throw new Error(said());
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

test('an edge in this process serves on any free port and leaves nothing open', async () => {
  const edge = await startEdge(onAnyPort(), silent, {});
  assert.equal((await fetch(`${edge.url}/readyz`)).status, 200);
  assert.match(await (await fetch(edge.metricsUrl ?? '')).text(), /api_latency_seconds_count\{endpoint="\/readyz"/);
  assert.equal(await edge.close(), true);
  await assert.rejects(fetch(`${edge.url}/healthz`));
  await assert.rejects(fetch(edge.metricsUrl ?? ''));
});

test('a request without a consumer that works ends at its deadline and leaves nothing in the stream', async () => {
  const edge = await startEdge(onAnyPort(), silent, {});
  const answer = await predict(edge.url, 50);
  assert.match(await answer.text(), /"code":"deadline_exceeded".*toy\.0\./);
  assert.equal(answer.status, 504);
  await edge.close();
  assert.equal(await client.xlen('sampan:{toy:0}:tasks:normal'), 0);
  const left = (await keysLeft(client)).filter((key) => key.startsWith('sampan:{toy:0}:') && !key.includes(':tasks:'));
  assert.deepEqual(left, []);
});

test('an edge whose stream goes away is not ready, answers 503 at once, and recovers by itself', async () => {
  const edge = await startEdge(onAnyPort(), silent, {});
  await stream.stop();
  const unready = await fetch(`${edge.url}/readyz`);
  assert.deepEqual(
    [unready.status, await unready.json()],
    [503, { status: 'not ready', reasons: ['the stream cannot be reached'] }],
  );
  const refused = await predict(edge.url, 5000);
  assert.match(await refused.text(), /"code":"stream_unavailable"/);
  assert.equal((await fetch(`${edge.url}/healthz`)).status, 200);
  await stream.start();
  for (;;) {
    if ((await fetch(`${edge.url}/readyz`)).status === 200) break;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
  await serveModels(client, [toyManifest]);
  assert.equal((await predict(edge.url, 50)).status, 504);
  await edge.close();
});

test('told to stop, the process finishes what is in flight, takes nothing new, and exits with 0', async () => {
  const { child, said } = startProcess({ REDIS_URL: stream.url, PORT: '0', METRICS_PORT: '0' });
  const url = await untilListening(said, child);
  const inFlight = predict(url, 1500);
  for (;;) {
    if ((await client.xlen('sampan:{toy:0}:tasks:normal')) === 1) break;
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  const exited = once(child, 'exit');
  child.kill('SIGTERM');
  assert.equal((await inFlight).status, 504, 'the deadline ended it, not the stop');
  assert.deepEqual(await exited, [0, null]);
  await assert.rejects(fetch(`${url}/healthz`));
  assert.match(said(), /"endpoint":"\/v1\/models\/:model\/predict".*"status":504/, 'its log is written to the end');
});

test('a port in use is told in one sentence, and the exit code is 1', async () => {
  const edge = await startEdge(onAnyPort(), silent, {});
  const { port } = new URL(edge.url);
  const { child, said } = startProcess({ REDIS_URL: stream.url, PORT: port, METRICS_PORT: '0' });
  assert.deepEqual(await once(child, 'exit'), [1, null]);
  assert.match(said(), new RegExp(`port ${port} on 127.0.0.1 is in use by another program`));
  await edge.close();
});

test('a configuration that is wrong is told by the names of the variables, and the exit code is 1', async () => {
  const { child, said } = startProcess({ PORT: 'eight' });
  assert.deepEqual(await once(child, 'exit'), [1, null]);
  assert.match(said(), /^PORT: expected a whole number from 0 to 65535$/m);
  assert.match(said(), /^REDIS_URL: is required/m);
});
