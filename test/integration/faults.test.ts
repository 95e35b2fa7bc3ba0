import assert from 'node:assert/strict';
import { createServer } from 'node:net';
import { once } from 'node:events';
import { describe, test } from 'node:test';
import { createLatch } from '../../backend/model/latch.js';
import { simulatedLabel, simulatedModel } from '../../backend/model/simulated-model.js';
import { partitionKeys } from '../../contracts/keys.js';
import { decodeResult } from '../../contracts/result.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { liveConsumers } from '../../contracts/register.js';
import { holdingProxy } from '../holding-proxy.js';
import { picture } from '../pictures.js';
import { enqueueOne, enqueueRequest } from '../tasks.js';
import { isReady, startPart } from './processes.js';
import { leftovers, nothingLeft, predict, servedBy, testSystem, until } from './system.js';

const system = await testSystem();
const named = (name: string, latch = createLatch()) => ({
  latch,
  model: simulatedModel({ latch, manifest: { name } }),
});
const taskIds = async (name: string) => Object.values(await system.stream.hgetall(partitionKeys(name).work));

test('a stream that was flushed serves again by itself, and meanwhile every failure may be tried again', async () => {
  const { model } = named('flushed');
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  assert.equal((await predict(url, 'flushed', picture('before'))).status, 200);
  await system.stream.flushall();
  // The edge works on what it last read of the catalogue; only a catalogue that was told again serves for long.
  await until(
    () => system.stream.hexists('sampan:models', 'flushed'),
    (told) => told === 1,
  );
  const answers = await until(
    async () => [
      await predict(url, 'flushed', picture(`after-${String(performance.now())}`), { 'x-timeout-ms': '2000' }),
    ],
    ([answer]) => {
      assert.ok(answer?.status === 200 || answer?.body.retryable === true, JSON.stringify(answer?.body));
      return answer.status === 200;
    },
  );
  assert.equal(answers.length, 1);
});

test('a task past its deadline is never run, unless somebody who joined it still waits', async () => {
  const { model, latch } = named('expiring');
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  latch.hold();
  const front = predict(url, 'expiring', picture('front'));
  await latch.arrived();
  // No edge waits for these two, so none cancels them: only the consumer can tell.
  const [late, joined] = ['late', 'joined'].map((text) =>
    enqueueRequest({ model: 'expiring', image: picture(text), timeLeftMs: 50, edge: 'an edge that died' }),
  );
  assert.ok(late && joined);
  const enqueued = await Promise.all(
    [late, joined].map((request) => enqueueOne(defineScripts(system.stream), request)),
  );
  const deadline = Math.max(...enqueued.map((each) => (each.how === 'shed' ? Infinity : each.deadline)));
  const keys = partitionKeys('expiring');
  await system.stream.hset(keys.task(joined.id), 'deadline', String(deadline + 60_000));
  await until(
    () => model.journal.decoded,
    (count) => count === 3,
  );
  await until(
    () => system.stream.time(),
    ([seconds, micros]) => Number(seconds) * 1000 + Number(micros) / 1000 > deadline,
  );
  latch.release();
  assert.equal((await front).status, 200);
  const resultOf = async (id: string) => {
    const stored = await until(
      () => system.stream.getBuffer(keys.result(id)),
      (bytes) => bytes !== null,
    );
    const result = decodeResult(stored ?? Buffer.alloc(0));
    return result.outcome === 'failed' ? result.code : result.outcome;
  };
  assert.equal(await resultOf(late.id), 'deadline_exceeded');
  assert.equal(await resultOf(joined.id), 'succeeded');
  assert.deepEqual(model.journal.answered, [simulatedLabel(picture('front')), simulatedLabel(joined.image)]);
  assert.deepEqual(await leftovers(system.stream, 'expiring'), nothingLeft);
});

describe('a task whose hash cannot be read', () => {
  test('does not keep its batch-mates from their answers, and leaves', async () => {
    const { model, latch } = named('poisoned');
    await system.backend(servedBy(model));
    const { url } = await system.edge();
    latch.hold();
    const front = predict(url, 'poisoned', picture('front'));
    await latch.arrived();
    const asked = Array.from({ length: 4 }, (_, i) =>
      predict(url, 'poisoned', picture(`mate-${String(i)}`), { 'x-timeout-ms': '10000' }),
    );
    await until(
      () => taskIds('poisoned'),
      (list) => list.length === 5,
    );
    const keys = partitionKeys('poisoned');
    const [, sick = ''] = await taskIds('poisoned');
    await system.stream.hset(keys.task(sick), 'ledger', 'written by somebody else');
    latch.release();
    assert.equal((await front).status, 200);
    const answers = await Promise.all(asked);
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200, 200, 200],
    );
    assert.equal(await system.stream.exists(keys.task(sick), keys.image(sick)), 0);
  });
});

test('a backend that cannot start takes nothing from the stream and is not in the register', async () => {
  const occupied = createServer().listen(0, '127.0.0.1');
  await once(occupied, 'listening');
  const address = occupied.address();
  assert.ok(address !== null && typeof address === 'object');
  const { model } = named('busy');
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  let going = true;
  const caller = async () => {
    const statuses: number[] = [];
    for (let i = 0; going; i++)
      statuses.push((await predict(url, 'busy', picture(`busy-${String(performance.now())}-${String(i)}`))).status);
    return statuses;
  };
  const callers = [caller(), caller(), caller(), caller()];
  const failing = startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: 'failing', HEALTH_PORT: String(address.port) },
    SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: ['busy'] }),
  });
  assert.equal(await failing.exited, 1);
  going = false;
  assert.deepEqual([...new Set((await Promise.all(callers)).flat())], [200]);
  assert.equal(
    (await liveConsumers(system.stream)).some(({ consumer }) => consumer === 'failing'),
    false,
  );
  assert.deepEqual(await leftovers(system.stream, 'busy'), nothingLeft);
  occupied.close();
});

test('a drain that takes too long begins no further run, says so by its exit code, and leaves the rest pending', async () => {
  const backend = startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'debug', SAMPAN_CONSUMER: 'slow', SAMPAN_DRAIN_SECONDS: '1' },
    SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: ['slow'], baseMs: 1500, maxBatch: 1 }),
  });
  await backend.line(isReady);
  const { url } = await system.edge();
  const asked = Array.from({ length: 4 }, (_, i) =>
    predict(url, 'slow', picture(`slow-${String(i)}`), { 'x-timeout-ms': '6000' }),
  );
  await backend.line((line) => line['msg'] === 'task left');
  backend.child.kill('SIGTERM');
  assert.equal(await backend.exited, 4, backend.output());
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assert.ok(statuses.includes(200) && statuses.includes(504), statuses.join());
});

test('while the stream does not answer, requests are answered by their deadline', async () => {
  const { model } = named('frozen');
  await system.backend(servedBy(model));
  const proxy = await holdingProxy(Number(new URL(system.env['REDIS_URL'] ?? '').port));
  const { url } = await system.edge({ REDIS_URL: proxy.url });
  assert.equal((await predict(url, 'frozen', picture('flows'))).status, 200);
  proxy.hold();
  const startedAt = performance.now();
  const answer = await predict(url, 'frozen', picture('stuck'), { 'x-timeout-ms': '300' });
  const ms = performance.now() - startedAt;
  proxy.release();
  assert.deepEqual([answer.status, answer.body.code], [504, 'deadline_exceeded']);
  // The connection itself is given up after five seconds; what counts is that nobody waited for that.
  assert.ok(ms < 4000, `answered after ${String(ms)} ms`);
  await until(
    () => leftovers(system.stream, 'frozen'),
    (state) => JSON.stringify(state) === JSON.stringify(nothingLeft),
  );
});
