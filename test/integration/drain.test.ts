import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consumerGroup, partitionKeys } from '../../contracts/keys.js';
import { loadConfig } from '../../backend/config.js';
import { startRedis } from '../../infra/setup/start-redis.js';
import { picture } from '../pictures.js';
import { preparedModels } from '../prepared-models.js';
import { serverBinary } from '../redis.js';
import { isReady, startPart } from './processes.js';
import { leftovers, nothingLeft, predict, testSystem, until, type Answered } from './system.js';

const system = await testSystem();
const simulated = JSON.stringify({ models: ['drained'], baseMs: 20, perImageMs: 2, maxBatch: 8 });
const backend = (name: string, env: Record<string, string> = {}) =>
  startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_SIMULATED_DEVICE: simulated, SAMPAN_CONSUMER: name },
    ...env,
  });

test('SIGTERM under load loses nothing: what is held is finished, the rest goes to the other backend', async () => {
  const leaving = backend('leaving');
  const staying = backend('staying');
  await Promise.all([leaving.line(isReady), staying.line(isReady)]);
  const { url } = await system.edge();
  const stream = partitionKeys('drained').tasks('normal');

  let sending = true;
  const answers: Answered[] = [];
  let number = 0;
  const caller = async () => {
    while (sending) {
      answers.push(await predict(url, 'drained', picture(`drain-${String(number++)}`), { 'x-timeout-ms': '30000' }));
    }
  };
  const callers = Promise.all(Array.from({ length: 48 }, caller));
  const heldByLeaving = async () => {
    const rows = await system.stream.xpending(stream, consumerGroup, '-', '+', 100);
    return rows.filter((row) => Array.isArray(row) && row[1] === 'leaving').length;
  };
  await until(heldByLeaving, (held) => held >= 8);

  leaving.child.kill('SIGTERM');
  assert.equal(await leaving.exited, 0, leaving.output());
  const heldAtTheSignal = leaving.log.find((line) => line['msg'] === 'draining')?.['held'];
  assert.ok(Number(heldAtTheSignal) > 0, `it held ${String(heldAtTheSignal)}`);
  const answeredBefore = answers.length;
  await until(
    () => answers.length,
    (count) => count >= answeredBefore + 48,
  );
  sending = false;
  await callers;

  const codes = new Set(answers.map(({ status }) => status));
  assert.deepEqual([...codes], [200]);
  assert.deepEqual(await leftovers(system.stream, 'drained'), nothingLeft);
  const names = (await system.stream.xinfo('CONSUMERS', stream, consumerGroup)) as string[][];
  assert.deepEqual(
    names.map((row) => row[1]),
    ['staying'],
  );
  staying.child.kill('SIGTERM');
  assert.equal(await staying.exited, 0);
});

test('a backend that holds nothing drains cleanly also while Redis is away', async () => {
  const redis = await startRedis({ role: 'stream', binary: await serverBinary(), appendOnly: false });
  const alone = backend('alone', { REDIS_URL: redis.url });
  await alone.line(isReady);
  await redis.stop();
  await alone.line(({ msg }) => String(msg).includes('Redis'));
  alone.child.kill('SIGTERM');
  assert.equal(await alone.exited, 0, alone.output());
});

test('a drain with a real session ends in time and cleanly, in the midst of runs', async () => {
  const real = startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'debug', SAMPAN_CONSUMER: 'real', MODELS: 'nsfw' },
    MODEL_DIR: await preparedModels(),
  });
  await real.line(isReady);
  const { url } = await system.edge();
  const asked = Array.from({ length: 40 }, (_, i) =>
    predict(url, 'nsfw', picture(`real-${String(i)}`), { 'x-timeout-ms': '4000' }),
  );
  await real.line((line) => line['msg'] === 'task left');
  real.child.kill('SIGTERM');
  assert.equal(await real.exited, 0, real.output());
  const answers = await Promise.all(asked);
  const answered = answers.filter(({ status }) => status === 200).length;
  const waiting = answers.filter(({ body }) => body.code === 'deadline_exceeded').length;
  assert.equal(answered + waiting, 40);
  assert.ok(answered >= 1);
});

test('a backend that cannot infer does not start, says why, and appears nowhere', async () => {
  const modelDir = await preparedModels();
  const cases: [Record<string, string>, RegExp][] = [
    [{ MODEL_DIR: modelDir, MODELS: 'nsfw', SAMPAN_DEVICE: 'cuda' }, /cuda/i],
    [{ MODEL_DIR: modelDir, MODELS: 'cats' }, /no model cats/],
    [{ MODEL_DIR: '/nowhere' }, /nowhere/],
    [{ SAMPAN_DEVICE: 'abacus' }, /SAMPAN_DEVICE/],
  ];
  const before = await system.stream.hkeys('sampan:models');
  for (const [env, reason] of cases) {
    const failing = startPart('backend/main.js', { ...system.env, SAMPAN_CONSUMER: 'failing', ...env });
    assert.equal(await failing.exited, 1, failing.output());
    assert.match(failing.output(), reason);
  }
  assert.deepEqual(await system.stream.hkeys('sampan:models'), before);
  assert.equal(await system.stream.zscore('sampan:consumers', 'failing'), null);
});

test('a configuration names each variable that is wrong', () => {
  assert.throws(
    () => loadConfig({ HEALTH_PORT: 'x', REDIS_URL: 'http://x' }),
    /REDIS_URL[^]*HEALTH_PORT|HEALTH_PORT[^]*REDIS_URL/,
  );
});
