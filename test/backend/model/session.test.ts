import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { openDevice, type Device, type Session } from '../../../backend/model/session.js';
import { openChannel } from '../../../backend/model/worker-channel.js';
import { preparedModels } from '../../prepared-models.js';

const side = 224;
const imageBytes = side * side * 3;
let graph: Buffer;

before(async () => {
  graph = await readFile(join(await preparedModels(), 'nsfw/1/model.onnx'));
});

const openNsfw = (device: Device): Promise<Session> => device.openSession(Uint8Array.from(graph));

const runBatch = (session: Session, batch: number): ReturnType<Session['run']> =>
  session.run(new ArrayBuffer(batch * imageBytes), [batch, side, side, 3]);

describe('a session on the CPU', () => {
  let device: Device;
  let session: Session;

  before(async () => {
    device = openDevice({ kind: 'cpu', threads: 1 });
    session = await openNsfw(device);
  });

  after(() => device.close());

  test('tells the inputs and outputs that the graph really has', () => {
    assert.deepEqual(session.inputs, [{ name: 'image', type: 'uint8', dims: ['N', side, side, 3] }]);
    assert.deepEqual(session.outputs, [{ name: 'probabilities', type: 'float32', dims: ['N', 5] }]);
  });

  test('a run takes the buffer with it and hands it back', async () => {
    const input = new ArrayBuffer(2 * imageBytes);
    const running = session.run(input, [1, side, side, 3]);
    assert.equal(input.byteLength, 0);
    const result = await running;
    assert.equal(result.input.byteLength, 2 * imageBytes);
    assert.equal(result.outputs['probabilities']?.length, 5);
  });

  test('the event loop turns while a long run is on', async () => {
    let turns = 0;
    const state = { running: true };
    const run = runBatch(session, 8).finally(() => {
      state.running = false;
    });
    while (state.running) {
      await nextTurn();
      turns += 1;
    }
    await run;
    // A run on this thread would leave room for a handful.
    assert.ok(turns > 100, `${String(turns)} turns`);
  });

  test('a failed run says why and leaves the session in order', async () => {
    await assert.rejects(session.run(new ArrayBuffer(10 * 10 * 3), [1, 10, 10, 3]), /invalid dimensions|Got: 10/i);
    assert.equal((await runBatch(session, 1)).outputs['probabilities']?.length, 5);
  });

  test('a broken graph is refused and leaves the device in order', async () => {
    await assert.rejects(device.openSession(Uint8Array.from(graph.subarray(0, 5000))), Error);
    assert.equal((await runBatch(session, 1)).outputs['probabilities']?.length, 5);
  });
});

test('a release during a run waits for it', async () => {
  const device = openDevice({ kind: 'cpu', threads: 1 });
  const session = await openNsfw(device);
  const order: string[] = [];
  await Promise.all([
    runBatch(session, 8).then(() => order.push('run')),
    session.release().then(() => order.push('release')),
    device.close().then(() => order.push('close')),
  ]);
  assert.deepEqual(order, ['run', 'release', 'close']);
  await assert.rejects(runBatch(session, 1), /released/);
});

test('a device that is closed while a model is loading ends in order', async () => {
  const device = openDevice({ kind: 'cpu', threads: 1 });
  const opening = openNsfw(device);
  await device.close();
  await opening;
  await assert.rejects(openNsfw(device), /closed|ended/);
});

test('sessions opened, run and released twenty times do not pile up', async () => {
  const device = openDevice({ kind: 'cpu', threads: 1 });
  const memory: number[] = [];
  for (let cycle = 0; cycle < 20; cycle++) {
    const session = await openNsfw(device);
    await runBatch(session, 2);
    await session.release();
    memory.push(process.memoryUsage.rss());
  }
  await device.close();
  const grown = ((memory.at(-1) ?? 0) - (memory[4] ?? 0)) / 2 ** 20;
  assert.ok(grown < 150, `${grown.toFixed(0)} MiB more than after five`);
});

test('a provider that is not installed is refused with its reason', async () => {
  const device = openDevice({ kind: 'cuda', threads: 1 });
  await assert.rejects(openNsfw(device), /cuda/i);
  await device.close();
});

test('a simulated device has no sessions', () => {
  assert.throws(() => openDevice({ kind: 'simulated', threads: 1 }), /simulatedModel/);
});

describe('a worker thread that dies', () => {
  const dying = (code: string): Worker =>
    new Worker(`require('node:worker_threads').parentPort.on('message', () => { ${code} })`, { eval: true });

  for (const [how, code, reason] of [
    ['with an error', "throw new Error('out of memory')", /out of memory/],
    ['without a word', 'process.exit(7)', /code 7/],
  ] as const) {
    test(`${how} rejects everything outstanding and tells its owner`, async () => {
      const channel = openChannel(dying(code));
      const asked = [1, 2, 3].map((session) => channel.ask('released', { type: 'release', session }, []));
      for (const answer of await Promise.allSettled(asked)) {
        assert.equal(answer.status, 'rejected');
        assert.match(String(answer.reason), reason);
      }
      assert.match((await channel.failed).message, reason);
      await assert.rejects(channel.ask('released', { type: 'release', session: 1 }, []), reason);
      await channel.end();
    });
  }
});
