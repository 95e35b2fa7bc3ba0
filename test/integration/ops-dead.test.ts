import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { simulatedLabel, simulatedModel } from '../../backend/model/simulated-model.js';
import { partitionKeys } from '../../contracts/keys.js';
import { findDeadLetter, replayDeadLetter } from '../../contracts/scripts/dead-letters.js';
import { leave } from '../../contracts/scripts/leave.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { picture } from '../pictures.js';
import { deadLetterOf, enqueueOne, enqueueRequest } from '../tasks.js';
import { runOps } from './ops.js';
import { keysLeft } from '../redis.js';
import { servedBy, testSystem, until } from './system.js';
import { serveByNobody } from './tenants.js';

/** What operators do with dead letters, and see of a running system. */
const system = await testSystem();
const stream = defineScripts(system.stream);
const ops = (...words: readonly string[]) => runOps(system.env, ...words);
const model = 'deadly';
const keys = partitionKeys(model);
const folder = mkdtempSync(join(tmpdir(), 'sampan-ops-'));
const traceparent = `00-${'a'.repeat(32)}-${'b'.repeat(16)}-01`;
after(() => rmSync(folder, { recursive: true, force: true }));

before(() => serveByNobody(stream, model));

/** What is left of tasks beside their results. */
const left = async () =>
  (await keysLeft(stream)).filter((key) => key.startsWith(`sampan:{${model}:`) && !/:(result|tasks):/.test(key));

/** Gives up the task of a picture; answers the id of its letter. */
async function die(image: Buffer): Promise<string> {
  const request = enqueueRequest({ model, image, tenant: 'acme' });
  const { id: taskId, spec } = request;
  await enqueueOne(stream, request);
  const deadLetter = { ...deadLetterOf(taskId), spec, traceparent };
  const from = { model, lane: 'normal', keepResultMs: 1 } as const;
  await leave(stream, from, [{ taskId, reason: 'dead', deadLetter }]);
  const [[id] = ['']] = await stream.xrevrange(keys.dead, '+', '-', 'COUNT', 1);
  return id;
}

test('dead letters are listed, and shown with their images', async () => {
  const image = picture('shown');
  const id = await die(image);
  const { code, out } = await ops('dead', 'list');
  const [head = '', ...rows] = out.split('\n');
  assert.equal(code, 0);
  assert.match(head, /^model +id +when +code +deliveries +consumer +tenant +bytes$/);
  assert.equal(rows.length, 1);
  assert.match(rows[0] ?? '', new RegExp(`^deadly +${id} .* task_dead +3 +one +acme +${String(image.length)}$`));
  assert.equal((await ops('dead', 'list', '--model', 'other')).out.split('\n').length, 1);
  const file = join(folder, 'shown.jpg');
  const shown = JSON.parse((await ops('dead', 'show', model, id, '--image', file)).out);
  assert.deepEqual([shown.code, shown.spec.tenant, shown.imageBytes], ['task_dead', 'acme', image.length]);
  assert.deepEqual(readFileSync(file), image);
  assert.deepEqual(await ops('dead', 'drop', model, id), { code: 0, out: `deadly ${id} is removed`, err: '' });
  assert.deepEqual(await left(), []);
});

test('what is not there, or has lost its image, is told, and nothing changes', async () => {
  for (const verb of ['show', 'replay', 'drop']) {
    for (const id of ['1-1', 'nonsense', '-']) {
      const { code, err } = await ops('dead', verb, '--', model, id);
      assert.deepEqual([code, err], [1, `model deadly has no dead letter ${id}`]);
    }
  }
  const id = await die(picture('faded'));
  const [image = ''] = await stream.keys(keys.image('*'));
  await stream.del(image);
  const replayed = await ops('dead', 'replay', model, id);
  assert.deepEqual([replayed.code, replayed.err], [1, 'its image is kept no longer; it cannot run again']);
  assert.equal(await stream.xlen(keys.dead), 1);
  assert.equal((await ops('dead', 'show', model, id, '--image', join(folder, 'faded.jpg'))).code, 1);
  await ops('dead', 'drop', model, id);
});

test('the backlog, the consumers and their rates are told', async () => {
  await enqueueOne(stream, enqueueRequest({ model, image: picture('waits') }));
  const id = await die(picture('counted'));
  const { code, out } = await ops('status');
  assert.equal(code, 0);
  const [models = '', consumers = ''] = out.split('\n\n');
  assert.match(models, /^model +version +consumers +can do\/s +left\/s +backlog +waiting +pending +dead\n/);
  assert.match(models, /\ndeadly +1 +1 +10\.0 +- +1 +1 +0 +1$/);
  assert.match(consumers, /\nby-hand-deadly +simulated none +ready +0 +deadly@1 +\d+ s$/);
  await ops('dead', 'drop', model, id);
  await stream.del(keys.tasks('normal'), keys.load, keys.work, ...(await stream.keys(keys.task('*'))));
  await stream.del(...(await stream.keys(keys.image('*'))));
});

test("a replayed task waits as any other, on its tenant's account, until it leaves", async () => {
  const image = picture('on the account');
  const filed = await findDeadLetter(stream, model, await die(image));
  assert.ok(filed);
  const replayed = await replayDeadLetter(stream, filed, { version: '1', timeLeftMs: 60_000 });
  assert.ok(replayed.how === 'replayed');
  const bytes = String(image.length);
  assert.deepEqual(await stream.hgetall(keys.load), {
    ...{ count: '1', bytes, admitted: '1', 'count:acme': '1', 'bytes:acme': bytes },
  });
  assert.deepEqual(await stream.getBuffer(keys.image(replayed.taskId)), image);
  await leave(stream, { model, lane: 'normal', keepResultMs: 1 }, [{ taskId: replayed.taskId, reason: 'cancelled' }]);
  assert.deepEqual(await left(), []);
});

test('a replayed letter runs with its image, in its trace; the letter is gone, and what it ends with is told', async () => {
  const image = picture('replayed');
  const id = await die(image);
  await system.backend(servedBy(simulatedModel({ manifest: { name: model }, faults: { failRunOn: '#fails#' } })));
  const { code, out, err } = await ops('dead', 'replay', model, id);
  assert.deepEqual([code, err], [0, '']);
  const [task = '', predictions = ''] = out.split('\n');
  assert.match(task, new RegExp(`^task deadly\\.0\\.[0-9a-f-]{36}, in the trace ${'a'.repeat(32)}$`));
  assert.equal(JSON.parse(predictions)[0].label, simulatedLabel(image));
  assert.equal(await stream.xlen(keys.dead), 0);
  await until(left, (keysOfTasks) => keysOfTasks.length === 0);
  assert.equal((await ops('dead', 'replay', model, id)).code, 1, 'it is there once only');
});

test('a letter that fails when it is run again says why', async () => {
  const id = await die(picture('fails'));
  const { code, err } = await ops('dead', 'replay', model, id, '--seconds', '30');
  assert.equal(code, 1);
  assert.match(err, /^it failed: inference_failed: ./);
  assert.equal((await ops('dead', 'replay', model, id, '--seconds', 'soon')).code, 1);
});
