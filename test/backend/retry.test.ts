import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Redis } from 'ioredis';
import { pino } from 'pino';
import { reportOnceASecond, untilRedisAnswers } from '../../backend/retry.js';
import { freePort } from '../../infra/setup/free-port.js';
import { testRedis } from '../redis.js';

const redis = await testRedis();

/** A log that keeps its lines. */
function keptLog() {
  const lines: Record<string, unknown>[] = [];
  const write = (line: string) => lines.push(JSON.parse(line));
  return { lines, log: pino({ base: null }, { write }) };
}

const impatient = (url: string) => {
  const client = new Redis(url, { enableOfflineQueue: false, maxRetriesPerRequest: 0, retryStrategy: () => 20 });
  client.on('error', () => undefined);
  return redis.adopt(client);
};

test('what Redis answers at once is done once, and nothing is logged', async () => {
  const { log, lines } = keptLog();
  const client = redis.client();
  let attempts = 0;
  const signal = new AbortController().signal;
  const reply = await untilRedisAnswers('ping', { report: reportOnceASecond(log), random: Math.random, signal }, () => {
    attempts++;
    return client.ping();
  });
  assert.deepEqual([reply, attempts, lines], ['PONG', 1, []]);
});

test('it goes on until Redis is back, waits longer each time, and says so at most once a second', async () => {
  const { log, lines } = keptLog();
  await redis.stop();
  const client = impatient(redis.url);
  const at: number[] = [];
  const startedAt = performance.now();
  let restarted: Promise<void> | undefined;
  const signal = new AbortController().signal;
  const reply = await untilRedisAnswers('ping', { report: reportOnceASecond(log), random: () => 1, signal }, () => {
    at.push(performance.now());
    // Away for five attempts.
    if (at.length === 5) restarted = redis.start();
    return client.ping();
  });
  assert.equal(reply, 'PONG');
  await restarted;
  assert.ok(at.length >= 6, `${at.length} attempts`);
  const waits = at.slice(1).map((time, i) => time - (at[i] ?? 0));
  // Timers may be late, never early: each wait is at least as long as promised.
  for (const [i, wait] of waits.entries()) assert.ok(wait >= Math.min(2000, 50 * 2 ** i) - 2, `wait ${i}: ${wait} ms`);
  const seconds = (performance.now() - startedAt) / 1000;
  assert.ok(lines.length >= 1 && lines.length <= Math.floor(seconds) + 1, `${lines.length} lines in ${seconds} s`);
  assert.ok(lines.every((line) => line['what'] === 'ping'));
});

test('jitter shortens a wait by a half at most', async () => {
  const { log } = keptLog();
  const at: number[] = [];
  const signal = new AbortController().signal;
  await untilRedisAnswers('x', { report: reportOnceASecond(log), random: () => 0, signal }, async () => {
    at.push(performance.now());
    if (at.length < 4) throw new Error('not yet');
  });
  const waits = at.slice(1).map((time, i) => time - (at[i] ?? 0));
  for (const [i, least] of [25, 50, 100].entries())
    assert.ok((waits[i] ?? 0) >= least - 2, `wait ${i}: ${waits[i]} ms`);
});

test('told to stop it stops at once, with the last error', async () => {
  const { log } = keptLog();
  const client = impatient(`redis://127.0.0.1:${await freePort()}`);
  const stopping = new AbortController();
  let attempts = 0;
  const going = untilRedisAnswers(
    'ping',
    { report: reportOnceASecond(log), random: () => 1, signal: stopping.signal },
    () => {
      attempts++;
      if (attempts === 6) setImmediate(() => stopping.abort());
      return client.ping();
    },
  );
  await assert.rejects(going, Error);
  // The sixth wait, of 1.6 s, was cut short; one last attempt is made.
  assert.ok(attempts <= 7, `${attempts} attempts`);
});

test('told to stop before it began it makes one attempt', async () => {
  const { log, lines } = keptLog();
  let attempts = 0;
  const going = untilRedisAnswers(
    'x',
    { report: reportOnceASecond(log), random: () => 1, signal: AbortSignal.abort() },
    () => {
      attempts++;
      return Promise.reject(new Error('away'));
    },
  );
  await assert.rejects(going, /away/);
  assert.deepEqual([attempts, lines.length], [1, 0]);
});
