import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import { liveConsumers } from '../../contracts/register.js';
import { picture } from '../pictures.js';
import { isReady } from './processes.js';
import { predict, testSystem, until } from './system.js';

const lineSchema = z.looseObject({ msg: z.string(), pid: z.number() });
type Line = z.infer<typeof lineSchema>;

const pids = new Set<number>();
after(() => {
  for (const pid of pids) if (runs(pid)) process.kill(pid, 'SIGKILL');
});
const system = await testSystem();
const device = JSON.stringify({ models: ['supervised'] });

/** The shipped supervisor, as a process of its own. */
function startSupervisor(env: Readonly<Record<string, string>>) {
  const path = fileURLToPath(new URL('../../backend/supervisor.js', import.meta.url));
  const child = spawn(process.execPath, [path], {
    env: { PATH: process.env['PATH'], ...system.env, SAMPAN_LOG_LEVEL: 'info', ...env },
  });
  let output = '';
  const lines: Line[] = [];
  const take = (text: string) => {
    output += `${text}\n`;
    if (!text.startsWith('{')) return;
    const line = lineSchema.parse(JSON.parse(text));
    lines.push(line);
    pids.add(line.pid);
  };
  createInterface({ input: child.stdout }).on('line', take);
  createInterface({ input: child.stderr }).on('line', take);
  after(() => child.kill('SIGKILL'));
  const exited = new Promise<number | null>((resolve) => child.once('exit', resolve));
  /** Resolves when the last process that writes to its output has ended. */
  const allEnded = new Promise<void>((resolve) => child.once('close', () => resolve()));
  const ready = (count: number) =>
    until(
      () => lines.filter(isReady),
      ({ length }) => length >= count,
      30_000,
    );
  return { child, output: () => output, lines, exited, allEnded, ready };
}

/** A process that has ended, but was not collected yet, counts as running here. */
function runs(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

const consumers = (count: number) =>
  until(
    () => liveConsumers(system.stream),
    ({ length }) => length === count,
    30_000,
  );

test('a backend per device: one that is killed comes back, requests are answered, a signal drains them all', async () => {
  const supervisor = startSupervisor({ SAMPAN_PROCESSES: '2', SAMPAN_SIMULATED_DEVICE: device });
  const first = await supervisor.ready(2);
  assert.equal(new Set(first.map(({ pid }) => pid)).size, 2);
  assert.equal(new Set(first.map((line) => line['health'])).size, 2);
  await consumers(2);

  process.kill(first[0]?.pid ?? 0, 'SIGKILL');
  const [, , again] = await supervisor.ready(3);
  assert.ok(again && first.every(({ pid }) => pid !== again.pid));
  const restart = supervisor.lines.find(({ msg }) => msg === 'a backend ended, and is started again');
  assert.deepEqual([restart?.['child'], restart?.['reason']], [first[0]?.pid, 'SIGKILL ended it']);

  const { url } = await system.edge();
  assert.equal((await predict(url, 'supervised', picture('supervised'))).status, 200);
  supervisor.child.kill('SIGTERM');
  assert.equal(await supervisor.exited, 0, supervisor.output());
  await supervisor.allEnded;
  const drained = supervisor.lines.filter(({ msg }) => msg === 'draining').map(({ pid }) => pid);
  assert.deepEqual(new Set(drained), new Set([first[1]?.pid, again.pid]));
});

test('what a backend held that died is taken up by its successor at once, however long a lease is', async () => {
  const model = 'succeeded';
  const killing = { models: [model], baseMs: 50, maxBatch: 8, killOn: 'ends its process' };
  const supervisor = startSupervisor({
    ...{ SAMPAN_LEASE_MS: '600000', SAMPAN_SIMULATED_DEVICE: JSON.stringify(killing) },
  });
  await supervisor.ready(1);
  const { url } = await system.edge();
  const names = ['1', '2', 'ends its process', '3', '4', '5'];
  const answers = await Promise.all(
    names.map((name) => predict(url, model, picture(name), { 'x-timeout-ms': '40000' })),
  );
  assert.deepEqual(
    answers.map(({ status, body }) => (status === 200 ? status : body.code)),
    [200, 200, 'task_dead', 200, 200, 200],
  );
  const configs = new Set(supervisor.lines.filter(isReady).map((line) => JSON.stringify(line['config'])));
  assert.equal(configs.size, 1, 'each life has the name of the one before');
  supervisor.child.kill('SIGTERM');
  assert.equal(await supervisor.exited, 0, supervisor.output());
});

test('a backend that cannot start ends the supervisor, with its own words', async () => {
  const supervisor = startSupervisor({ MODEL_DIR: '/nowhere/to/be/found' });
  assert.equal(await supervisor.exited, 1);
  await supervisor.allEnded;
  assert.match(supervisor.output(), /\/nowhere\/to\/be\/found/);
  const last = supervisor.lines.find(({ msg }) => msg === 'a backend cannot start; all end');
  assert.equal(last?.['reason'], 'it could not start, or met an error that nothing caught');
});

test('a wrong value is named, and nothing is started', async () => {
  const supervisor = startSupervisor({ SAMPAN_PROCESSES: 'many' });
  assert.equal(await supervisor.exited, 1);
  await supervisor.allEnded;
  assert.match(supervisor.output(), /SAMPAN_PROCESSES: expected a whole number/);
  assert.deepEqual(supervisor.lines, []);
});

test('backends drain and end with a supervisor that was killed', async () => {
  const supervisor = startSupervisor({ SAMPAN_SIMULATED_DEVICE: device });
  const [backend] = await supervisor.ready(1);
  supervisor.child.kill('SIGKILL');
  await until(() => supervisor.lines.some(({ pid, msg }) => pid === backend?.pid && msg === 'draining'), Boolean);
  await supervisor.allEnded;
});
