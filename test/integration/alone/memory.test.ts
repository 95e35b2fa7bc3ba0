import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { simulatedModel } from '../../../backend/model/simulated-model.js';
import { liveConsumers } from '../../../contracts/register.js';
import { scrape } from '../../exposition.js';
import { picture } from '../../pictures.js';
import { isReady, startPart } from '../processes.js';
import { predict, servedBy, testSystem, until } from '../system.js';

const system = await testSystem();
const mebibyte = 1024 * 1024;

/** Takes memory for as long as what it answers is kept. */
const taken = (bytes: number) => Buffer.alloc(bytes, 1);
function giveBack(): void {
  setFlagsFromString('--expose-gc');
  (runInNewContext('gc') as () => void)();
}

const readiness = async (url: string) => {
  const response = await fetch(`${url}/readyz`);
  return { status: response.status, body: (await response.json()) as { reasons: string[]; memory: { state: string } } };
};

test('while memory is short nothing is read; readiness, register and metrics say so; once it is free again work goes on', async () => {
  const model = 'tight';
  giveBack();
  const limit = process.memoryUsage.rss() + 400 * mebibyte;
  const backend = await system.backend(servedBy(simulatedModel({ manifest: { name: model } })), {
    SAMPAN_MEMORY_BYTES: String(limit),
  });
  const { url } = await system.edge();
  assert.equal((await predict(url, model, picture('before'))).status, 200);

  const held: { buffer: Buffer | undefined } = { buffer: taken(450 * mebibyte) };
  const paused = await until(
    () => readiness(backend.healthUrl),
    ({ status }) => status === 503,
  );
  assert.match(paused.body.reasons.join(), /paused for want of memory/);
  assert.equal(paused.body.memory.state, 'paused');
  const gauge = async (name: string) => (await scrape(backend.metricsUrl ?? '')).find(name, {})[0]?.value;
  assert.equal(await gauge('reading_paused'), 1);
  assert.equal(await gauge('watched_memory_limit_bytes'), limit);
  assert.ok(Number(await gauge('watched_memory_used_bytes')) > 0.9 * 400 * mebibyte);
  const told = await until(
    () => liveConsumers(system.stream),
    (consumers) => consumers[0]?.state === 'paused',
  );
  assert.equal(told[0]?.memory.watched?.state, 'paused');
  // A read that was under way when the pause began takes what comes until it ends, within its second.
  await until(
    () => system.stream.client('LIST'),
    (clients) => !/ flags=b .* cmd=xreadgroup /.test(String(clients)),
  );
  const meanwhile = await predict(url, model, picture('meanwhile'), { 'x-timeout-ms': '500' });
  assert.ok([503, 504].includes(meanwhile.status), String(meanwhile.status));

  assert.equal(held.buffer?.length, 450 * mebibyte);
  held.buffer = undefined;
  await until(
    () => {
      giveBack();
      return readiness(backend.healthUrl);
    },
    ({ status }) => status === 200,
  );
  assert.equal(await gauge('reading_paused'), 0);
  await until(
    async () => (await predict(url, model, picture('afterwards'))).status,
    (status) => status === 200,
  );
});

test('a process that cannot get back under its memory although it holds nothing ends by its own code, to be replaced', async () => {
  const backend = startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: 'full' },
    ...{ SAMPAN_MEMORY_BYTES: '1000000', SAMPAN_MEMORY_STUCK_SECONDS: '2' },
    ...{ SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: ['full'] }) },
  });
  await backend.line(isReady);
  assert.equal(await backend.exited, 5, backend.output());
  assert.ok(backend.log.some((line) => line['why'] === 'memory'));
});
