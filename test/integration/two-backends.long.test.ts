import assert from 'node:assert/strict';
import { test } from 'node:test';
import { simulatedLabel } from '../../backend/model/simulated-model.js';
import { liveConsumers } from '../../contracts/register.js';
import { picture } from '../pictures.js';
import { isReady, startPart } from './processes.js';
import { leftovers, nothingLeft, predict, testSystem, until } from './system.js';

const requests = process.env['SAMPAN_TEST_LONG'] ? 10_000 : 2_000;
const callers = 64;
const system = await testSystem();

/** Sends every picture once, so many at a time. */
async function sendAll(url: string, pictures: readonly Buffer<ArrayBuffer>[]) {
  const answers: Awaited<ReturnType<typeof predict>>[] = [];
  let next = 0;
  const caller = async () => {
    for (let i = next++; i < pictures.length; i = next++) {
      answers[i] = await predict(url, 'shared', pictures[i] ?? Buffer.alloc(0), { 'x-timeout-ms': '60000' });
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return answers;
}

test('two backends on one stream share the work, every request is answered once, and nothing is left', async () => {
  const simulated = JSON.stringify({ models: ['shared'], baseMs: 4, perImageMs: 1, maxBatch: 8 });
  const backends = ['one', 'two'].map((name) =>
    startPart('backend/main.js', {
      ...{ ...system.env, SAMPAN_LOG_LEVEL: 'debug' },
      ...{ SAMPAN_CONSUMER: name, SAMPAN_SIMULATED_DEVICE: simulated },
    }),
  );
  await Promise.all(backends.map((backend) => backend.line(isReady)));
  const { url } = await system.edge();
  const pictures = Array.from({ length: requests }, (_, number) => picture(`share-${String(number)}`));

  const answers = await sendAll(url, pictures);

  for (const [i, answer] of answers.entries()) {
    assert.equal(answer.status, 200, JSON.stringify(answer.body));
    assert.equal(answer.body.predictions[0].label, simulatedLabel(pictures[i] ?? Buffer.alloc(0)));
  }
  assert.equal(new Set(answers.map(({ body }) => body.id)).size, requests);
  assert.deepEqual(await leftovers(system.stream, 'shared'), nothingLeft);

  // The lines are written in the background.
  const taskIds = () =>
    backends.map(({ log }) => log.filter((line) => line['msg'] === 'task left').map((line) => line['taskId']));
  const [one = [], two = []] = await until(taskIds, (ids) => ids.flat().length >= requests);
  assert.equal(new Set([...one, ...two]).size, requests);
  assert.equal(one.length + two.length, requests);
  const least = requests / 4;
  assert.ok(one.length >= least && two.length >= least, `${String(one.length)} and ${String(two.length)}`);

  for (const backend of backends) backend.child.kill('SIGTERM');
  assert.deepEqual(await Promise.all(backends.map((backend) => backend.exited)), [0, 0]);
  assert.deepEqual(await liveConsumers(system.stream), []);
});
