import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createLatch } from '../../../backend/model/latch.js';
import { simulatedModel } from '../../../backend/model/simulated-model.js';
import { decodeDeadLetter } from '../../../contracts/dead-letter.js';
import { consumerGroup, partitionKeys } from '../../../contracts/keys.js';
import { defineScripts, letGo, retire } from '../../../contracts/scripts/scripts.js';
import { scrape } from '../../exposition.js';
import { picture } from '../../pictures.js';
import { deliver } from '../../tasks.js';
import { isReady, startPart, type TestProcess } from '../processes.js';
import { leftovers, nothingLeft, predict, servedBy, testSystem, until, type Answered } from '../system.js';

const system = await testSystem();
const stream = defineScripts(system.stream);
const tasksOf = (model: string) => partitionKeys(model).tasks('normal');
const patient = { 'x-timeout-ms': '30000' };
const ask = (url: string, model: string, names: readonly string[], headers: Record<string, string> = patient) =>
  names.map((name) => predict(url, model, picture(`${model} ${name}`), headers));
const numbered = (count: number) => Array.from({ length: count }, (_, i) => String(i));

interface Simulated extends Record<string, unknown> {
  readonly models: readonly string[];
}

/** A backend as it is shipped, with a simulated device. */
async function backendProcess(name: string, simulated: Simulated, env: Record<string, string> = {}) {
  const part = startPart('backend/main.js', {
    ...{ ...system.env, SAMPAN_LOG_LEVEL: 'info', SAMPAN_CONSUMER: name, SAMPAN_LEASE_MS: '600' },
    ...{ SAMPAN_SIMULATED_DEVICE: JSON.stringify(simulated), ...env },
  });
  const ready = await part.line(isReady);
  return { ...part, metricsUrl: String(ready['metrics']) };
}

/** Entries that a consumer holds. */
async function heldBy(consumer: string, model: string): Promise<number> {
  const rows = await stream.xpending(tasksOf(model), consumerGroup, '-', '+', 1000, consumer).catch(() => []);
  return rows.length;
}
const statusesOf = async (asked: readonly Promise<Answered>[]) =>
  (await Promise.all(asked)).map(({ status }) => status);
const claimedBy = async ({ metricsUrl }: { metricsUrl: string }, model: string) =>
  (await scrape(metricsUrl)).find('tasks_claimed_total', { model })[0]?.value ?? 0;

test('row 1: an entry deleted by hand while it was pending hinders nobody, and its caller is told', async () => {
  const model = 'deleted';
  const latch = createLatch({ held: true });
  const only = simulatedModel({ latch, manifest: { name: model, batch: { simulated: { max: 1, maxWaitMs: 0 } } } });
  await system.backend(servedBy(only), { SAMPAN_LEASE_MS: '200' });
  const { url } = await system.edge();
  const front = ask(url, model, ['running', 'ready']);
  await until(
    () => only.journal.decoded,
    (count) => count === 2,
  );
  const dead = ask(url, model, numbered(3), { 'x-timeout-ms': '4000' });
  await until(
    () => stream.xlen(tasksOf(model)),
    (length) => length === 5,
  );
  const entryIds = await deliver(stream, 'a consumer that died', 3, tasksOf(model));
  await letGo(stream, tasksOf(model), 'a consumer that died', entryIds);
  await stream.xdel(tasksOf(model), entryIds[1] ?? '');
  latch.release();
  assert.deepEqual(await statusesOf(front), [200, 200]);
  const answers = await Promise.all(dead);
  const failed = answers.filter(({ status }) => status !== 200);
  assert.deepEqual(
    failed.map(({ status, body }) => [status, body.code, body.retryable]),
    [[503, 'task_lost', true]],
  );
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);
});

test('row 4: a consumer killed with 10 pending is not cleaned away before all 10 are answered', async () => {
  const model = 'killed';
  const [doomed, heir] = await Promise.all([
    backendProcess('doomed', { models: [model], hangOn: model, maxBatch: 5 }),
    backendProcess('heir', { models: ['other'] }),
  ]);
  assert.ok(heir.child.pid);
  const { url } = await system.edge();
  const asked = ask(url, model, numbered(10));
  await until(
    () => heldBy('doomed', model),
    (held) => held === 10,
  );
  doomed.child.kill('SIGKILL');
  await doomed.exited;
  const saviour = await backendProcess('saviour', { models: [model], baseMs: 1, maxBatch: 5 });
  let cleaning = true;
  const cleanUp = async () => {
    while (cleaning) await retire(stream, tasksOf(model), 'doomed');
  };
  const cleaned = cleanUp();
  assert.deepEqual(await statusesOf(asked), Array(10).fill(200));
  cleaning = false;
  await cleaned;
  assert.equal(await claimedBy(saviour, model), 10);
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);
  const consumers = (await stream.xinfo('CONSUMERS', tasksOf(model), consumerGroup)) as string[][];
  assert.deepEqual(
    consumers.map((row) => row[1]),
    ['saviour'],
  );
});

test('row 6: in the shipped configuration what a killed consumer held is claimed and answered within the default deadline', async () => {
  const model = 'shipped';
  const shipped = { SAMPAN_LEASE_MS: '' };
  const doomed = await backendProcess('crashing', { models: [model], hangOn: model, maxBatch: 2 }, shipped);
  const { url } = await system.edge();
  const asked = ask(url, model, numbered(4), {});
  await until(
    () => heldBy('crashing', model),
    (held) => held === 4,
  );
  const heir = await backendProcess('claiming', { models: [model], baseMs: 1 }, shipped);
  doomed.child.kill('SIGKILL');
  assert.deepEqual(await statusesOf(asked), Array(4).fill(200));
  assert.equal(await claimedBy(heir, model), 4);
});

test('row 7: an inference of five leases runs once', async () => {
  const model = 'long';
  const slow = () => simulatedModel({ baseMs: 1500, manifest: { name: model } });
  const both = [slow(), slow()];
  for (const one of both) await system.backend(servedBy(one), { SAMPAN_LEASE_MS: '300' });
  const { url } = await system.edge();
  assert.deepEqual(await statusesOf(ask(url, model, ['only'])), [200]);
  assert.deepEqual(
    both.flatMap(({ journal }) => journal.runs),
    [1],
  );
});

test('row 8: a consumer whose event loop stands still for many leases settles nothing twice', async () => {
  const model = 'blocked';
  const preload = new URL('./blocked-loop.js', import.meta.url).href;
  const blocked = await backendProcess(
    'standing-still',
    { models: [model], baseMs: 100, maxBatch: 4 },
    { NODE_OPTIONS: `--import ${preload}`, TEST_BLOCK_MS: '4800' },
  );
  const { url } = await system.edge();
  const asked = ask(url, model, numbered(24));
  await until(
    () => heldBy('standing-still', model),
    (held) => held >= 4,
  );
  blocked.child.kill('SIGUSR2');
  const other = await backendProcess('moving', { models: [model], baseMs: 20, maxBatch: 4 });
  assert.deepEqual(await statusesOf(asked), Array(24).fill(200));
  assert.ok((await claimedBy(other, model)) > 0);
  const left = async ({ metricsUrl }: { metricsUrl: string }) =>
    (await scrape(metricsUrl)).find('model_inference_count_total', { model, outcome: 'succeeded' })[0]?.value ?? 0;
  await until(
    async () => (await left(blocked)) + (await left(other)),
    (sum) => sum >= 24,
  );
  assert.equal((await left(blocked)) + (await left(other)), 24);
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);
});

test('row 9: after a thousand runs that threw nothing is pending, and what the dead hold is not counted as waiting', async () => {
  const model = 'throwing';
  const failing = simulatedModel({ faults: { failRunOn: model }, manifest: { name: model } });
  const backend = await system.backend(servedBy(failing));
  const { url } = await system.edge();
  const names = numbered(1000);
  const statuses: number[] = [];
  while (names.length > 0) statuses.push(...(await statusesOf(ask(url, model, names.splice(0, 200)))));
  assert.deepEqual([...new Set(statuses)], [500]);
  assert.ok(failing.journal.runs.length >= 1000);
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);

  const gauge = async (name: string) => (await scrape(backend.metricsUrl ?? '')).find(name, { model })[0]?.value;
  const ghost = 'a consumer that died';
  // Both at once, or the live consumer would be first.
  await stream
    .multi()
    .xadd(tasksOf(model), '*', 'not', 'a task')
    .xreadgroup('GROUP', consumerGroup, ghost, 'COUNT', 1, 'STREAMS', tasksOf(model), '>')
    .exec();
  await until(
    () => gauge('tasks_pending'),
    (pending) => pending === 1,
  );
  assert.deepEqual([await gauge('tasks_backlog'), await gauge('tasks_waiting')], [1, 0]);
});

test('row 17: a picture that kills its process becomes a dead letter, its caller is told, and its batch-mates succeed', async () => {
  const model = 'deadly';
  const deaths: string[] = [];
  const watch = new AbortController();
  const isOver = () => watch.signal.aborted;
  /** Whoever watches over a backend starts it again. */
  const kept = async (name: string) => {
    for (let life = 1; !isOver(); life++) {
      const one: TestProcess = await backendProcess(`${name}-${life}`, {
        ...{ models: [model], baseMs: 20, maxBatch: 8, killOn: 'ends its process' },
      });
      running.add(one);
      // All is over since it was begun, and nobody else will end it.
      if (isOver()) one.child.kill('SIGKILL');
      const end = await one.exited;
      running.delete(one);
      if (end === 'SIGKILL') deaths.push(`${name}-${life}`);
    }
  };
  const running = new Set<TestProcess>();
  const lives = [kept('first'), kept('second')];
  await until(
    () => running.size,
    (size) => size === 2,
  );
  const { url } = await system.edge();
  const names = [...numbered(7), 'ends its process', ...numbered(15).slice(7)];
  const answers = await Promise.all(ask(url, model, names));
  const died = [...deaths];
  watch.abort();
  for (const { child } of running) child.kill('SIGKILL');
  await Promise.all(lives);

  const dead = answers.filter(({ status }) => status !== 200);
  assert.deepEqual(
    dead.map(({ status, body }) => [status, body.code, body.retryable]),
    [[500, 'task_dead', false]],
  );
  assert.equal(answers.indexOf(dead[0] ?? assert.fail()), 7);
  assert.equal(died.length, 3, died.join());
  const keys = partitionKeys(model);
  const letters = (await stream.xrange(keys.dead, '-', '+')).map(([, fields]) => decodeDeadLetter(fields));
  assert.equal(letters.length, 1);
  const [letter] = letters;
  assert.ok(letter);
  assert.equal(letter.deliveries, 4);
  assert.deepEqual(await stream.getBuffer(keys.image(letter.taskId)), picture(`${model} ends its process`));
  assert.ok((await stream.pttl(keys.image(letter.taskId))) > 0);
  assert.deepEqual(
    [await stream.xlen(tasksOf(model)), await stream.exists(keys.work, keys.load, keys.task(letter.taskId))],
    [0, 0],
  );
});
