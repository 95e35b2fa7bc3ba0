import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatch } from '../../../backend/model/latch.js';
import { simulatedModel } from '../../../backend/model/simulated-model.js';
import { liveConsumers } from '../../../contracts/register.js';
import { picture } from '../../pictures.js';
import { isReady, startPart } from '../processes.js';
import { leftovers, nothingLeft, predict, servedBy, testSystem, until } from '../system.js';

const system = await testSystem();
const patient = { 'x-timeout-ms': '30000' };

interface Ready {
  readonly status: number;
  readonly reasons: readonly string[];
}
async function readiness(healthUrl: string): Promise<Ready> {
  const response = await fetch(`${healthUrl}/readyz`);
  const { reasons } = (await response.json()) as { reasons: string[] };
  return { status: response.status, reasons };
}

test('row 22: a device that is lost makes its consumer not ready, ends its reading, and the process by its own code; its work is reclaimed', async () => {
  const model = 'losing';
  const backend = (name: string, simulated: object) =>
    startPart('backend/main.js', {
      ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: name, SAMPAN_LEASE_MS: '1000' },
      SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: [model], baseMs: 30, maxBatch: 4, ...simulated }),
    });
  const sick = backend('sick', { lostOn: 'breaks the device' });
  await sick.line(isReady);
  const { url } = await system.edge();
  const names = ['1', '2', 'breaks the device', '3', '4', '5', '6', '7'];
  const asked = names.map((name) => predict(url, model, picture(name), patient));
  assert.equal(await sick.exited, 3, sick.output());
  const fatal = sick.log.find((line) => line['level'] === 'fatal');
  assert.match(JSON.stringify(fatal?.['err']), /CUDA failure 700/);
  const heir = backend('heir', {});
  await heir.line(isReady);
  const statuses = (await Promise.all(asked)).map(({ status }) => status);
  assert.deepEqual(statuses, Array(8).fill(200));
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);
});

test('row 22: until the process has ended, readiness says that the device is lost, and nothing more is read', async () => {
  const model = 'lost';
  const losing = simulatedModel({ faults: { lostOn: 'breaks' }, manifest: { name: model } });
  const backend = await system.backend(servedBy(losing));
  const { url } = await system.edge();
  const broken = predict(url, model, picture('breaks'), { 'x-timeout-ms': '3000' });
  assert.match(String(await backend.failed), /illegal memory access/);
  const { status, reasons } = await readiness(backend.healthUrl);
  assert.equal(status, 503);
  assert.match(reasons.join(), /cannot go on.*illegal memory access/);
  const later = await predict(url, model, picture('later'), { 'x-timeout-ms': '1000' });
  assert.ok([503, 504].includes(later.status));
  assert.equal((await broken).status, 504);
  assert.deepEqual(losing.journal.runs, [1]);
});

test('a run that goes past its limit ends its process with the reason, and its batch-mates and all that waited are answered', async () => {
  const model = 'hanging';
  const backend = (name: string, simulated: object) =>
    startPart('backend/main.js', {
      ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: name, SAMPAN_LEASE_MS: '600' },
      SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: [model], runLimitMs: 700, maxBatch: 4, ...simulated }),
    });
  const hung = backend('hung', { hangOn: 'never ends' });
  await hung.line(isReady);
  const { url } = await system.edge();
  const names = ['1', '2', 'never ends', '3', '4', '5'];
  const asked = names.map((name) => predict(url, model, picture(`${name} ${model}`), patient));
  assert.equal(await hung.exited, 'SIGKILL', hung.output());
  const fatal = hung.log.find((line) => line['level'] === 'fatal');
  assert.match(JSON.stringify(fatal), /past its limit.*|took longer than 700 ms/);
  const heir = backend('heir', {});
  await heir.line(isReady);
  assert.deepEqual(
    (await Promise.all(asked)).map(({ status }) => status),
    Array(6).fill(200),
  );
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);
});

test('a device whose memory is short runs the halves of a batch, and batches stay small for a while', async () => {
  const model = 'narrow';
  const latch = createLatch({ held: true });
  const narrow = simulatedModel({
    ...{ latch, faults: { mostPerRun: 4 } },
    manifest: { name: model, batch: { simulated: { max: 16, maxWaitMs: 0 } } },
  });
  await system.backend(servedBy(narrow));
  const { url } = await system.edge();
  const front = predict(url, model, picture('front'), patient);
  await latch.arrived();
  const asked = Array.from({ length: 31 }, (_, i) => predict(url, model, picture(`narrow ${i}`), patient));
  await until(
    () => narrow.journal.decoded,
    (count) => count === 32,
  );
  latch.release();
  const answers = await Promise.all([front, ...asked]);
  assert.ok(answers.every(({ status }) => status === 200));
  const [first, second, third, fourth, ...rest] = narrow.journal.runs;
  assert.deepEqual([first, second, third, fourth], [1, 16, 8, 4]);
  // After the first batch has shown what fits, no run asks for more.
  assert.ok(rest.filter((size) => size > 4).length === 1, rest.join());
});

test('a consumer whose batches all fail stops reading until its canary passes, and swallows no more than those', async () => {
  const model = 'ailing';
  const ailing = simulatedModel({
    failRuns: [1, 2, 3, 4, 5],
    manifest: { name: model, batch: { simulated: { max: 1, maxWaitMs: 0 } } },
  });
  const backend = await system.backend(servedBy(ailing), { SAMPAN_LEASE_MS: '300' });
  const { url } = await system.edge();
  const statuses: number[] = [];
  for (let i = 0; i < 3; i++) statuses.push((await predict(url, model, picture(`ailing ${i}`))).status);
  assert.deepEqual(statuses, [500, 500, 500]);
  await until(
    () => readiness(backend.healthUrl),
    ({ reasons }) => reasons.some((reason) => reason.includes(`batches of ${model} fail`)),
  );
  await until(
    () => liveConsumers(system.stream),
    (consumers) => consumers.some(({ models, state }) => models[0]?.model === model && state === 'sick'),
  );
  const shunned = await predict(url, model, picture('meanwhile'), { 'x-timeout-ms': '300' });
  assert.ok([503, 504].includes(shunned.status), String(shunned.status));
  await until(
    () => readiness(backend.healthUrl),
    ({ status }) => status === 200,
  );
  // Two canaries failed, the third passed; no picture was run meanwhile.
  assert.deepEqual(ailing.journal.runs.length, 6);
  await until(
    async () => (await predict(url, model, picture('afterwards'))).status,
    (status) => status === 200,
  );
});
