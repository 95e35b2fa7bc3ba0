import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { loadConfig } from '../../../backend/config.js';
import { openModels } from '../../../backend/model/served-models.js';
import { openDevice, type Session } from '../../../backend/model/session.js';
import { batchLimitFor } from '../../../contracts/model.js';
import { liveConsumers } from '../../../contracts/register.js';
import { preparedModels } from '../../prepared-models.js';
import { isReady, startPart } from '../processes.js';
import { keysLeft } from '../../redis.js';
import { testSystem } from '../system.js';

const system = await testSystem();
const side = 224;
/** Sessions opened and closed one after the other, and after how many of them memory is taken as settled. */
const restarts = process.env['SAMPAN_TEST_LONG'] ? 50 : 15;
const settled = 10;
let modelDir = '';
before(async () => {
  modelDir = await preparedModels();
});

test('row 23: while a run is held the health server answers, time and again, and timers fire', async () => {
  const served = await openModels(
    loadConfig({ ...system.env, MODEL_DIR: modelDir, MODELS: 'nsfw', SAMPAN_THREADS: '1' }),
  );
  const { healthUrl } = await system.backend(served);
  const [model] = served.models;
  assert.ok(model);
  const { max } = batchLimitFor(model.manifest, 'cpu');
  const blank = { pixels: new Uint8Array(side * side * 3), width: side, height: side };
  let seen = { health: 0, timers: 0 };
  for (let runs = 0; runs < 5 && Math.min(seen.health, seen.timers) < 5; runs++) {
    const run = model.infer(Array.from({ length: max }, () => blank));
    const [health, timers] = await Promise.all([
      doneDuring(run, async () => assert.equal((await fetch(`${healthUrl}/healthz`)).status, 200)),
      doneDuring(run, () => sleep(1)),
    ]);
    seen = { health, timers };
  }
  // On this thread a run would let none through.
  assert.ok(seen.health >= 5 && seen.timers >= 5, JSON.stringify(seen));
});

test(`row 23: ${restarts} restarts of the session thread, each with a run under way, survive and give the same answer`, async (context) => {
  const graph = await readFile(join(modelDir, 'nsfw/1/model.onnx'));
  const runOnce = async (session: Session) =>
    (await session.run(new ArrayBuffer(side * side * 3), [1, side, side, 3])).outputs['probabilities'];
  const answers = new Set<string>();
  const memory: number[] = [];
  for (let restart = 0; restart < restarts; restart++) {
    const device = openDevice({ kind: 'cpu', threads: 1 });
    const session = await device.openSession(Uint8Array.from(graph));
    const running = runOnce(session);
    const closing = device.close();
    answers.add(String(await running));
    await closing;
    assert.equal(await Promise.race([device.failed.then(() => 'failed'), sleep(0, 'closed')]), 'closed');
    memory.push(process.memoryUsage.rss() / 2 ** 20);
  }
  assert.equal(answers.size, 1);
  const grown = (memory.at(-1) ?? 0) - (memory[settled - 1] ?? 0);
  context.diagnostic(`${grown.toFixed(0)} MiB more after ${restarts} than after ${settled}`);
  // A session that stays takes about 20 MiB.
  assert.ok(grown < 200, `${grown.toFixed(0)} MiB more after ${restarts} restarts than after ${settled}`);
});

test('row 24: a wished provider that is missing stops the start with its reason; nothing runs on the CPU instead', async () => {
  const keysBefore = await keysLeft(system.stream);
  const backend = startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: 'wishful' },
    ...{ MODEL_DIR: modelDir, MODELS: 'nsfw', SAMPAN_DEVICE: 'cuda' },
  });
  await assert.rejects(backend.line(isReady), /the process ended before/);
  assert.equal(await backend.exited, 1, backend.output());
  const fatal = backend.log.find(({ msg }) => msg === 'the backend does not start');
  assert.match(JSON.stringify(fatal?.['err']), /cuda/i);
  const consumers = await liveConsumers(system.stream);
  assert.ok(!consumers.some(({ consumer }) => consumer === 'wishful'));
  assert.deepEqual(await keysLeft(system.stream), keysBefore);
});

/** How often something can be begun and finished, one after the other, before a run is over. */
async function doneDuring(run: Promise<unknown>, act: () => Promise<unknown>): Promise<number> {
  const over = run.then(() => 'over');
  for (let count = 0; ; count++) {
    const acting = act().then(() => 'done');
    if ((await Promise.race([acting, over])) === 'done') continue;
    await acting;
    return count;
  }
}
