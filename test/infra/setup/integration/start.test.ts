import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';

test('npm start looks at a photo, answers again from the cache, and leaves nothing behind after Ctrl-C', async () => {
  const occupied = createServer().listen(0, '127.0.0.1');
  await once(occupied, 'listening');
  const address = occupied.address();
  assert.ok(address !== null && typeof address === 'object');
  const run = await started({ PORT: String(address.port) });
  try {
    assert.match(run.output(), /person +0\.\d\d/);
    assert.match(run.output(), /the first time .* cache: miss/);
    assert.match(run.output(), /the same again .* cache: hit/);
    const probabilities = [...run.output().matchAll(/^ {2}[A-Z]\w+ +([01]\.\d{4})/gm)].map(([, score]) =>
      Number(score),
    );
    assert.equal(probabilities.length, 5);
    assert.ok(Math.abs(probabilities.reduce((sum, score) => sum + score, 0) - 1) < 1e-3);

    const edge = /(http:\S+)\/v1\/models$/m.exec(run.output())?.[1] ?? assert.fail('no address was printed');
    assert.notEqual(new URL(edge).port, String(address.port));
    for (const url of run.output().match(/http:\S+\/(?:readyz|metrics|models)$/gm) ?? []) {
      assert.equal((await fetch(url)).status, 200, url);
    }

    const family = descendants(run.process.pid ?? assert.fail());
    assert.ok(family.length >= 4, 'two servers of Redis, a backend and an edge');
    run.process.kill('SIGINT');
    assert.deepEqual(await exitOf(run.process), [0, null]);
    assert.deepEqual(family.filter(isRunning), []);
  } finally {
    run.process.kill('SIGKILL');
    occupied.close();
  }
});

test('npm start says which part ended unasked, ends the rest, and fails', async () => {
  const run = await started({});
  try {
    const family = descendants(run.process.pid ?? assert.fail());
    const backend = family.find((pid) => commandLine(pid).includes('backend/main.js')) ?? assert.fail('no backend');
    process.kill(backend, 'SIGKILL');
    assert.deepEqual(await exitOf(run.process), [1, null]);
    assert.match(run.output(), /the backend ended \(SIGKILL\)/);
    assert.deepEqual(family.filter(isRunning), []);
  } finally {
    run.process.kill('SIGKILL');
  }
});

test('npm start ends everything when npm alone is told to stop', async () => {
  const run = await started({}, ['npm', 'start']);
  const family = descendants(run.process.pid ?? assert.fail());
  assert.ok(family.length >= 5, 'start, two servers of Redis, a backend and an edge');
  run.process.kill('SIGTERM');
  while (family.some(isRunning)) await new Promise((resolve) => setTimeout(resolve, 50));
  assert.match(run.output(), /all that was started has ended/);
});

/** Starts everything and waits for the last line that start-up prints; fails with its output when it ends before. */
async function started(
  env: Record<string, string>,
  [program, ...args]: readonly [string, ...string[]] = [process.execPath, join('infra', 'setup', 'start.mjs')],
): Promise<{ process: ChildProcess; output: () => string }> {
  const inherited = Object.entries(process.env).filter(([name]) => !['REDIS_URL', 'CACHE_REDIS_URL'].includes(name));
  const child = spawn(program, args, {
    env: { ...Object.fromEntries(inherited), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  await new Promise<void>((resolve, reject) => {
    const note = (chunk: Buffer) => {
      output += chunk.toString();
      if (output.includes('Ctrl-C ends everything')) resolve();
    };
    child.stdout.on('data', note);
    child.stderr.on('data', note);
    child.once('exit', () => reject(new Error(output)));
  });
  return { process: child, output: () => output };
}

async function exitOf(child: ChildProcess): Promise<unknown[]> {
  return child.exitCode === null ? once(child, 'close') : [child.exitCode, child.signalCode];
}

/** The processes that a process started, and those that they started, as Linux lists them. */
function descendants(pid: number): number[] {
  const children = readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((candidate) => parentOf(candidate) === pid);
  return [...children, ...children.flatMap(descendants)];
}

function parentOf(pid: number): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8');
    return Number(/^PPid:\s+(\d+)/m.exec(status)?.[1]);
  } catch {
    return undefined;
  }
}

function commandLine(pid: number): string {
  return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
}

/** A process that ended but was not waited for yet by its new parent does not run. */
function isRunning(pid: number): boolean {
  try {
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}
