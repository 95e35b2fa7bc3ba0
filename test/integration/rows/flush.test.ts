import assert from 'node:assert/strict';
import { test } from 'node:test';
import { consumerGroup, partitionKeys } from '../../../contracts/keys.js';
import { picture } from '../../pictures.js';
import { isReady, startPart } from '../processes.js';
import { leftovers, nothingLeft, predict, testSystem, until, type Answered } from '../system.js';

const system = await testSystem();
const model = 'flushed';
const stream = partitionKeys(model).tasks('normal');

test('row 5: after a flush under load work goes on by itself, at most one line a second is logged, and no command is repeated in a loop', async () => {
  const backend = startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: 'only' },
    SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: [model], baseMs: 20, maxBatch: 8 }),
  });
  await backend.line(isReady);
  const { url } = await system.edge();
  const load = { on: true };
  const answers: Answered[] = [];
  const caller = async (number: number) => {
    for (let i = 0; load.on; i++) {
      answers.push(await predict(url, model, picture(`${number} ${i}`), { 'x-timeout-ms': '2000' }));
      if (answers.at(-1)?.status !== 200) await new Promise((resolve) => setTimeout(resolve, 50));
    }
  };
  const callers = Array.from({ length: 40 }, (_, number) => caller(number));
  const pending = async () => Number((await system.stream.xpending(stream, consumerGroup))[0]);
  await until(pending, (count) => count >= 16);
  const flushedAt = performance.now();
  await system.stream.flushall();
  const before = answers.length;
  const succeeded = () => answers.slice(before).filter(({ status }) => status === 200).length;
  await until(succeeded, (count) => count >= 40);
  load.on = false;
  await Promise.all(callers);
  for (const { status, body } of answers) assert.ok(status === 200 || body.retryable === true, JSON.stringify(body));

  // A loop that got stuck would show now that nobody asks.
  await system.stream.config('RESETSTAT');
  await new Promise((resolve) => setTimeout(resolve, 2500));
  const stats = await system.stream.info('commandstats');
  const calls = (name: string) => Number(new RegExp(`cmdstat_${name}:calls=(\\d+)`).exec(stats)?.[1] ?? 0);
  assert.ok(calls('xreadgroup') <= 20, `${calls('xreadgroup')} reads`);
  assert.ok(calls('xgroup\\|create') <= 2);
  const seconds = (performance.now() - flushedAt) / 1000;
  const complaints = backend.log.filter(({ level }) => ['warn', 'error', 'fatal'].includes(String(level)));
  assert.ok(complaints.length <= seconds + 1, `${complaints.length} lines in ${seconds} s`);
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);
});
