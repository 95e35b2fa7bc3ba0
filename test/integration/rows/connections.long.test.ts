import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test, type TestContext } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { startFaultProxy } from '../../fault-proxy.js';
import { picture } from '../../pictures.js';
import { testRedis, type TestRedis } from '../../redis.js';
import { predict, until } from '../system.js';
import { lives, runningBackend, runningEdge, type RunningPart } from './parts.js';
import { strandingProxy } from './stranding-proxy.js';

const outageMs = process.env['SAMPAN_TEST_LONG'] ? 20_000 : 3_000;
/** Longer than any connection waits for an answer. */
const sleepSeconds = 7;
/** How soon the stream must be consumed again: five seconds, and as much again where tests share two cores. */
const recoveryMs = 10_000;

interface Consuming {
  readonly model: string;
  readonly backend: RunningPart;
  readonly edge: RunningPart;
}

/** A server that keeps its data over a stop, and may be told to sleep. */
async function keepingRedis(): Promise<TestRedis> {
  const dir = mkdtempSync(join(tmpdir(), 'sampan-rows-'));
  const redis = await testRedis({ dir, appendOnly: true, extra: ['--enable-debug-command', 'yes'] });
  after(() => rmSync(dir, { recursive: true, force: true }));
  return redis;
}

/** An edge and a backend, at work; the backend comes to Redis by a way of its own. */
async function consuming(model: string, redis: TestRedis, backendUrl = redis.url): Promise<Consuming> {
  const backend = await runningBackend(model, { REDIS_URL: backendUrl });
  const edge = await runningEdge({ REDIS_URL: redis.url });
  const parts = { model, backend, edge };
  await answersAgain(parts);
  return parts;
}

let number = 0;
/** Waits until a picture that nobody sent before is answered; whatever is answered until then may be tried again. */
async function answersAgain({ model, edge }: Consuming): Promise<void> {
  const ask = async () => {
    const { status, body } = await predict(edge.url, model, picture(number++), { 'x-timeout-ms': '500' });
    assert.ok(status === 200 || body.retryable === true, JSON.stringify(body));
    return status;
  };
  await until(ask, (status) => status === 200, recoveryMs);
}

/** The very same processes consume again, within the bound; says how long that took. */
async function consumesAgain(context: TestContext, parts: Consuming): Promise<void> {
  const startedAt = performance.now();
  await answersAgain(parts);
  context.diagnostic(`consuming again after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`);
  for (const part of [parts.backend, parts.edge]) assert.ok(lives(part), part.process.output());
}

describe('without any restart', { concurrency: 5 }, () => {
  test('row 10: a consumer whose reads never complete is not live, though Redis answers its commands', async () => {
    const redis = await testRedis();
    const proxy = await strandingProxy(redis.port);
    const { backend } = await consuming('deaf', redis, proxy.url);
    const healthz = async () => (await fetch(`${backend.url}/healthz`)).status;
    assert.equal(await healthz(), 200);
    proxy.strandNamed('backend-read-');
    // It goes by the last read that was completed, and grants a read twenty seconds.
    await until(healthz, (status) => status === 503, 60_000);
    // It is the reading alone: the heartbeat goes on.
    const { reasons } = (await (await fetch(`${backend.url}/readyz`)).json()) as { reasons: string[] };
    assert.ok(!reasons.includes('Redis does not answer'), reasons.join());
  });

  test('row 10: the stream is consumed again after connections were reset, at rest and at work, time and again', async (context) => {
    const redis = await testRedis();
    const proxy = await startFaultProxy(redis.port);
    after(() => proxy.close());
    const parts = await consuming('reset', redis, proxy.url);
    for (let round = 0; round < 4; round++) {
      const atWork = round % 2 === 1;
      const asked = atWork
        ? Array.from({ length: 16 }, (_, i) => predict(parts.edge.url, 'reset', picture(`at-work-${round}-${i}`)))
        : [];
      if (atWork) await Promise.race(asked);
      assert.ok(proxy.reset() >= 2, 'a connection for commands and one for reading');
      await consumesAgain(context, parts);
      for (const { status } of await Promise.all(asked)) assert.equal(status, 200);
    }
  });

  test(`row 10: the stream is consumed again after Redis answered nobody for ${sleepSeconds} s`, async (context) => {
    const redis = await keepingRedis();
    const parts = await consuming('asleep', redis);
    await redis.client().call('DEBUG', 'SLEEP', String(sleepSeconds));
    await consumesAgain(context, parts);
  });

  test(`row 10: the stream is consumed again after an outage of ${outageMs / 1000} s`, async (context) => {
    const redis = await keepingRedis();
    const parts = await consuming('outage', redis);
    await redis.stop();
    await sleep(outageMs);
    await redis.start();
    await consumesAgain(context, parts);
  });

  test('row 10: the stream is consumed again after connections went silent without being closed', async (context) => {
    const redis = await testRedis();
    const proxy = await strandingProxy(redis.port);
    const parts = await consuming('stranded', redis, proxy.url);
    assert.ok(proxy.strand() >= 2, 'a connection for commands and one for reading');
    await consumesAgain(context, parts);
  });
});
