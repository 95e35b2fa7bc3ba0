import assert from 'node:assert/strict';
import { fork, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { childEnvironments, loadSupervisorConfig } from '../../backend/supervise/config.js';
import { endingInWords, exitCodes } from '../../backend/supervise/exit-codes.js';
import { nextWait, type Wait } from '../../backend/supervise/next-wait.js';
import { supervise, type Supervision } from '../../backend/supervise/supervise.js';
import { until } from '../integration/system.js';

const folder = mkdtempSync(join(tmpdir(), 'sampan-supervisor-'));
const url = (module: string) => JSON.stringify(new URL(`../../backend/supervise/${module}`, import.meta.url).href);
const pids = new Set<number>();
const supervisions: Supervision[] = [];
after(() => {
  for (const { passOn } of supervisions) passOn('SIGKILL');
  for (const pid of pids) if (runs(pid)) process.kill(pid, 'SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

interface Event {
  readonly pid: number;
  readonly index: string;
  readonly event: string;
}

let scripts = 0;

/**
 * A script for children that note what happens to them. In `body`, `note(event)` notes, `index` is the child's own
 * device, `run` says the how manieth of that index it is, `countOf(event, false)` counts what all have noted, `tie()`
 * ties it to its supervisor, and `stay(code)` keeps it until SIGTERM, which it notes before it exits with that code.
 */
function childScript(body: string) {
  const script = join(folder, `child-${scripts++}.mjs`);
  const journal = `${script}.journal`;
  writeFileSync(
    script,
    `import { appendFileSync, readFileSync } from 'node:fs';
     import { tieToSupervisor as tie } from ${url('tie.js')};
     const index = process.env.SAMPAN_DEVICE_INDEX;
     const note = (event) =>
       appendFileSync(${JSON.stringify(journal)}, JSON.stringify({ pid: process.pid, index, event }) + '\\n');
     const stay = (code) => {
       const alive = setTimeout(() => process.exit(99), 60_000);
       process.on('SIGTERM', () => { note('drained'); process.exitCode = code; clearTimeout(alive); });
       note('stays');
     };
     const countOf = (event, own = true) => {
       const lines = readFileSync(${JSON.stringify(journal)}, 'utf8').split('\\n').slice(0, -1);
       const noted = lines.map((line) => JSON.parse(line));
       return noted.filter((one) => one.event === event && (!own || one.index === index)).length;
     };
     note('runs');
     const run = countOf('runs');
     ${body}`,
  );
  const events = (): Event[] => {
    const noted: Event[] = readIfThere(journal)
      .split('\n')
      .slice(0, -1)
      .map((line) => JSON.parse(line));
    for (const { pid } of noted) pids.add(pid);
    return noted;
  };
  /** Resolves with the events of one name once there are so many. */
  const noted = async (event: string, count = 1) => {
    const those = () => events().filter((one) => one.event === event);
    return until(those, ({ length }) => length >= count);
  };
  return { script, events, noted };
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

/** Whether a process runs; one that has ended and was not collected by anybody does not. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  return !/^\d+ \(.*\) [ZX] /.test(readIfThere(`/proc/${pid}/stat`));
}

/** Supervises so many children; every wait is as short as it may be, unless `random` says otherwise. */
function superviseOver(script: string, children: number, random = () => 0) {
  const lines: Record<string, unknown>[] = [];
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const environments = Array.from({ length: children }, (_, i) => ({ SAMPAN_DEVICE_INDEX: String(i) }));
  const supervision = supervise({ script, environments, log, random });
  supervisions.push(supervision);
  const reasons = () => lines.filter(({ msg }) => /ended/.test(String(msg))).map(({ reason }) => reason);
  return { passOn: supervision.passOn, code: () => inTime(supervision.ended), lines, reasons };
}

/** What a promise resolves with, which it does before long. */
async function inTime<T>(promise: Promise<T>): Promise<T> {
  let value: { of: T } | undefined;
  void promise.then((of) => (value = { of }));
  const there = await until(
    () => value,
    (one) => one !== undefined,
  );
  assert.ok(there);
  return there.of;
}

test('waits double from half a second to half a minute, and begin anew after a minute of life', () => {
  const steps: number[] = [];
  let wait: Wait | undefined;
  for (let i = 0; i < 9; i++) {
    wait = nextWait(wait, 59_999, 1);
    assert.equal(wait.waitMs, wait.stepMs);
    steps.push(wait.stepMs);
  }
  assert.deepEqual(steps, [500, 1000, 2000, 4000, 8000, 16_000, 30_000, 30_000, 30_000]);
  assert.equal(nextWait(wait, 60_000, 1).stepMs, 500);
});

test('jitter shortens a wait by a half at most, and not the step it doubles from', () => {
  const first = nextWait(undefined, 0, 0);
  assert.deepEqual(first, { stepMs: 500, waitMs: 250 });
  assert.deepEqual(nextWait(first, 0, 0.5), { stepMs: 1000, waitMs: 750 });
});

test('each child has a device and ports of its own, and all else as it was', () => {
  const env = {
    ...{ REDIS_URL: 'redis://here', SAMPAN_PROCESSES: '3', SAMPAN_DEVICE_INDEX: '2', SAMPAN_CONSUMER: 'left' },
    ...{ HEALTH_PORT: '9000', METRICS_PORT: '' },
  };
  const children = childEnvironments(env, loadSupervisorConfig(env));
  assert.deepEqual(
    children.map((child) => [child['SAMPAN_DEVICE_INDEX'], child['HEALTH_PORT'], child['METRICS_PORT']]),
    [
      ['2', '9000', '9465'],
      ['3', '9001', '9466'],
      ['4', '9002', '9467'],
    ],
  );
  assert.deepEqual(new Set(children.map((child) => child['REDIS_URL'])), new Set(['redis://here']));
  assert.deepEqual(
    children.map((child) => child['SAMPAN_CONSUMER']),
    ['left-0', 'left-1', 'left-2'],
  );
});

test('an only child keeps the name that was given, and has the ports that a backend has by itself', () => {
  const env = { SAMPAN_CONSUMER: 'left' };
  const [child, ...others] = childEnvironments(env, loadSupervisorConfig(env), 6);
  assert.deepEqual(others, []);
  assert.deepEqual(child, {
    ...{ SAMPAN_CONSUMER: 'left', SAMPAN_DEVICE_INDEX: '0', HEALTH_PORT: '8788', METRICS_PORT: '9465' },
    ...{ CUDA_DEVICE_ORDER: 'PCI_BUS_ID', UV_THREADPOOL_SIZE: '6' },
  });
});

test('children share the cores for decoding, unless somebody said how many threads each takes', () => {
  const threads = (more: Record<string, string>, cores: number) => {
    const env = { SAMPAN_PROCESSES: '3', ...more };
    return childEnvironments(env, loadSupervisorConfig(env), cores).map((child) => child['UV_THREADPOOL_SIZE']);
  };
  assert.deepEqual(threads({}, 16), ['6', '6', '6']);
  assert.deepEqual(threads({}, 2), ['2', '2', '2']);
  assert.deepEqual(threads({}, 384), ['32', '32', '32']);
  assert.deepEqual(threads({ UV_THREADPOOL_SIZE: '9' }, 16), ['9', '9', '9']);
});

test('port 0 stays 0 for every child, and an order of cards that was chosen stays', () => {
  const env = { SAMPAN_PROCESSES: '2', HEALTH_PORT: '0', METRICS_PORT: '0', CUDA_DEVICE_ORDER: 'FASTEST_FIRST' };
  for (const child of childEnvironments(env, loadSupervisorConfig(env))) {
    assert.deepEqual([child['HEALTH_PORT'], child['METRICS_PORT']], ['0', '0']);
    assert.equal(child['CUDA_DEVICE_ORDER'], 'FASTEST_FIRST');
  }
});

test('children without a name get one each, which stays theirs from life to life', () => {
  const config = loadSupervisorConfig({ SAMPAN_PROCESSES: '2' });
  const names = () => childEnvironments({}, config).map((child) => child['SAMPAN_CONSUMER']);
  assert.deepEqual(names(), names());
  assert.equal(new Set(names()).size, 2);
  assert.match(names()[1] ?? '', new RegExp(`-${process.pid}-1$`));
});

test('what is wrong in the configuration is named', () => {
  const wrong = { SAMPAN_PROCESSES: '0', SAMPAN_DEVICE_INDEX: '-1', HEALTH_PORT: 'x', SAMPAN_LOG_LEVEL: 'loud' };
  for (const [name, value] of Object.entries(wrong)) {
    assert.throws(() => loadSupervisorConfig({ [name]: value }), new RegExp(`^Error: the config[^]*\\n  ${name}: `));
  }
  const beyond = { SAMPAN_PROCESSES: '2', METRICS_PORT: '65535' };
  assert.throws(() => loadSupervisorConfig(beyond), /METRICS_PORT: the last process would get 65536/);
  loadSupervisorConfig({ SAMPAN_PROCESSES: '2', METRICS_PORT: '65534' });
});

test('every exit code of a backend has words of its own', () => {
  const words = Object.values(exitCodes).map((code) => endingInWords({ code, signal: null }));
  assert.equal(new Set(words).size, words.length);
  for (const text of words) assert.doesNotMatch(text, /status/);
  assert.equal(endingInWords({ code: 99, signal: null }), 'it ended with status 99');
  assert.equal(endingInWords({ code: null, signal: 'SIGKILL' }), 'SIGKILL ended it');
});

test('a child that crashes is started again as a new process, and the log says why', async () => {
  const { script, noted, events } = childScript(`if (run === 1) process.kill(process.pid, 'SIGKILL'); else stay(0);`);
  const { passOn, code, lines, reasons } = superviseOver(script, 1);
  const [stays] = await noted('stays');
  const [first, second] = events();
  assert.notEqual(first?.pid, second?.pid);
  assert.equal(second?.pid, stays?.pid);
  assert.deepEqual(reasons(), ['SIGKILL ended it']);
  const line = lines.find(({ reason }) => reason !== undefined);
  assert.deepEqual([line?.['index'], line?.['child'], line?.['waitMs']], [0, first?.pid, 250]);
  passOn('SIGTERM');
  assert.equal(await code(), 0);
});

test('a child comes back after whatever end that nobody asked for, an orderly one too', async () => {
  const { script, noted } = childScript('if (run <= 3) process.exit([0, 3, 5][run - 1]); else stay(0);');
  const { passOn, code, reasons } = superviseOver(script, 1);
  await noted('stays');
  assert.deepEqual(
    reasons(),
    [exitCodes.stopped, exitCodes.deviceLost, exitCodes.memoryFull].map((code) =>
      endingInWords({ code, signal: null }),
    ),
  );
  passOn('SIGTERM');
  assert.equal(await code(), 0);
});

test('a child that cannot start the first time ends all: the others are drained, the code is 1', async () => {
  const { script, events, noted } = childScript(`
    const failOnceOthersStay = () => countOf('stays', false) === 2 && process.exit(1);
    if (index === '1') setInterval(failOnceOthersStay, 5);
    else stay(4);`);
  const { code, reasons, lines } = superviseOver(script, 3);
  assert.equal(await code(), 1);
  assert.equal((await noted('drained', 2)).length, 2);
  assert.equal(events().filter(({ event }) => event === 'runs').length, 3);
  assert.deepEqual(reasons(), []);
  assert.deepEqual(
    lines.filter(({ level }) => level === 60).map(({ index, msg }) => [index, msg]),
    [[1, 'a backend cannot start; all end']],
  );
});

test('an error of a child that had started, or that starts again, is not one of a start', async () => {
  const { script, noted } = childScript(`
    if (run === 1) { tie().started(); setTimeout(() => process.exit(1), 200); }
    else if (run === 2) process.exit(1);
    else stay(0);`);
  const { passOn, code, reasons } = superviseOver(script, 1);
  await noted('stays');
  const words = endingInWords({ code: exitCodes.cannotStart, signal: null });
  assert.deepEqual(reasons(), [words, words]);
  passOn('SIGTERM');
  assert.equal(await code(), 0);
});

test('a signal drains all children, and none is started again', async () => {
  const { script, events, noted } = childScript('stay(0);');
  const { passOn, code } = superviseOver(script, 3);
  await noted('stays', 3);
  passOn('SIGTERM');
  assert.equal(await code(), 0);
  assert.equal(events().filter(({ event }) => event === 'drained').length, 3);
  assert.equal(events().filter(({ event }) => event === 'runs').length, 3);
});

test('the worst end of a child is the end of all', async () => {
  const { script, noted } = childScript(`stay([0, 4, 3][index]);`);
  const { passOn, code } = superviseOver(script, 3);
  await noted('stays', 3);
  passOn('SIGTERM');
  assert.equal(await code(), 4);
});

test('a second signal is passed on as well', async () => {
  const { script, noted } = childScript(`
    setInterval(() => 0, 1000);
    process.on('SIGTERM', () => note('first'));
    process.on('SIGINT', () => process.exit(0));
    note('stays');`);
  const { passOn, code } = superviseOver(script, 1);
  await noted('stays');
  passOn('SIGTERM');
  await noted('first');
  passOn('SIGINT');
  assert.equal(await code(), 0);
});

test('a child that the signal ended before it could drain is a good end; one that was killed is not', async () => {
  const { script, noted } = childScript(`setInterval(() => 0, 1000); note('stays');`);
  const starting = superviseOver(script, 1);
  await noted('stays');
  starting.passOn('SIGTERM');
  assert.equal(await starting.code(), 0);

  const { script: other, noted: notedByOther } = childScript(
    `setInterval(() => 0, 1000); process.on('SIGTERM', () => process.kill(process.pid, 'SIGKILL')); note('stays');`,
  );
  const killed = superviseOver(other, 1);
  await notedByOther('stays');
  killed.passOn('SIGTERM');
  assert.equal(await killed.code(), 128 + 9);
});

test('a signal while a child waits to be started again ends the wait', async () => {
  const { script, events } = childScript('process.exit(3);');
  const aMinute = 60_000;
  const { passOn, code, lines, reasons } = superviseOver(script, 1, () => (2 * aMinute) / 500 - 1);
  await until(reasons, ({ length }) => length === 1);
  assert.equal(lines.at(-1)?.['waitMs'], aMinute);
  passOn('SIGTERM');
  assert.equal(await code(), 0);
  assert.equal(events().length, 1);
});

/** A process of its own that supervises one child. */
function supervisorProcess(script: string) {
  const path = join(folder, `supervisor-${scripts++}.mjs`);
  writeFileSync(
    path,
    `import { supervise } from ${url('supervise.js')};
     const log = { info: () => 0, warn: () => 0, fatal: () => 0 };
     supervise({ script: process.argv[2], environments: [{ SAMPAN_DEVICE_INDEX: '0' }], log, random: Math.random });`,
  );
  const child = spawn(process.execPath, [path, script], { stdio: 'ignore' });
  after(() => child.kill('SIGKILL'));
  return child;
}

test('children end with a supervisor that was killed: they drain as after a signal', async () => {
  const { script, noted } = childScript('tie().started(); stay(0);');
  const supervisor = supervisorProcess(script);
  const [stays] = await noted('stays');
  supervisor.kill('SIGKILL');
  const [drained] = await noted('drained');
  assert.equal(drained?.pid, stays?.pid);
  await until(
    () => runs(stays?.pid ?? 0),
    (running) => !running,
  );
});

test('a child whose supervisor was gone before it asked ends likewise', async () => {
  const { script, noted } = childScript(`
    note('stays');
    const asking = setInterval(() => {
      if (process.connected) return;
      clearInterval(asking);
      stay(0);
      tie().started();
    }, 5);`);
  const supervisor = supervisorProcess(script);
  const [stays] = await noted('stays');
  supervisor.kill('SIGKILL');
  await noted('drained');
  await until(
    () => runs(stays?.pid ?? 0),
    (running) => !running,
  );
});

test('a tie keeps no process alive, and is nothing where there is no supervisor', async () => {
  const { script, events } = childScript(`tie().started(); note('tied');`);
  for (const start of [() => spawn(process.execPath, [script]), () => fork(script)]) {
    const child = start();
    after(() => child.kill('SIGKILL'));
    assert.equal(await inTime(new Promise((resolve) => child.once('exit', resolve))), 0);
  }
  assert.equal(events().filter(({ event }) => event === 'tied').length, 2);
});
