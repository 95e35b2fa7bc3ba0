import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { pino } from 'pino';
import { staleAfterMs, type MemorySource } from '../../../backend/memory/memory-source.js';
import { openNvidiaSmi } from '../../../backend/memory/nvidia-smi.js';
import { until } from '../../integration/system.js';

const mebibyte = 1024 * 1024;
const folder = mkdtempSync(join(tmpdir(), 'sampan-smi-'));
const sources: MemorySource[] = [];
after(() => {
  for (const source of sources) source.stop();
  rmSync(folder, { recursive: true, force: true });
});

let tools = 0;

/** A nvidia-smi of our own. It notes each of its runs; `run` says the how manieth it is. */
function fakeTool(body: string) {
  const command = join(folder, `tool-${tools++}`);
  const journal = `${command}.runs`;
  const note = `const fs = require('node:fs');
    const journal = ${JSON.stringify(journal)};
    fs.appendFileSync(journal, JSON.stringify({ pid: process.pid, args: process.argv.slice(2) }) + '\\n');
    const run = fs.readFileSync(journal, 'utf8').split('\\n').length - 1;
    const say = (line) => process.stdout.write(line + '\\n');`;
  const install = () => writeFileSync(command, `#!${process.execPath}\n${note}\n${body}\n`, { mode: 0o755 });
  const runs = (): { pid: number; args: string[] }[] => {
    const lines = readIfThere(journal).split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  };
  return { command, install, runs };
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function open(command: string, more: { silentMs?: number } = {}) {
  const lines: Record<string, unknown>[] = [];
  const turned = { ahead: 0 };
  const log = pino({ base: null }, { write: (line: string) => lines.push(JSON.parse(line)) });
  const now = () => performance.now() + turned.ahead;
  const source = openNvidiaSmi({ command, device: '3', log, now, random: () => 0, ...more });
  sources.push(source);
  return { source, lines, turned };
}

const readingOf = (source: MemorySource) => {
  const reading = source.read();
  return 'at' in reading ? reading : undefined;
};
const reasonOf = (source: MemorySource) => {
  const reading = source.read();
  return 'at' in reading ? '' : reading.reason;
};
const untilReason = (source: MemorySource, words: RegExp) =>
  until(
    () => reasonOf(source),
    (reason) => words.test(reason),
  );
const untilUsed = (source: MemorySource, mebibytes: number) =>
  until(
    () => readingOf(source)?.usedBytes,
    (used) => used === mebibytes * mebibyte,
  );

/** Whether a process runs; one that has ended and was not collected by anybody does not. */
function runs(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  const stat = readIfThere(`/proc/${pid}/stat`);
  return !/^\d+ \(.*\) [ZX] /.test(stat);
}

test('the newest line is the reading; one tool is asked for one card, once a second', async () => {
  const tool = fakeTool(`let used = 1000; setInterval(() => say('3, ' + used++ + ', 81920'), 20);`);
  tool.install();
  const { source, lines } = open(tool.command);
  assert.match(reasonOf(source), /not said anything yet/);
  const first = await until(
    () => readingOf(source),
    (reading) => reading !== undefined,
  );
  assert.equal(first?.limitBytes, 81_920 * mebibyte);
  await until(
    () => readingOf(source)?.usedBytes ?? 0,
    (used) => used >= 1005 * mebibyte,
  );
  assert.ok((readingOf(source)?.at ?? 0) > first.at);
  const query = ['--query-gpu=index,memory.used,memory.total', '--format=csv,noheader,nounits'];
  assert.deepEqual(
    tool.runs().map(({ args }) => args),
    [[...query, '-i', '3', '-lms', '1000']],
  );
  assert.deepEqual(lines, []);
});

test('garbage between the lines, and lines cut in the middle, harm no reading', async () => {
  const tool = fakeTool(`
    process.stdout.write(Buffer.from([0xff, 0xfe, 0, 10]));
    say('x'.repeat(5000));
    process.stderr.write('warning: something\\n');
    say('3, many, few, more');
    process.stdout.write('3, 12');
    setTimeout(() => process.stdout.write('34, 81920\\n\\n'), 50);
    setInterval(() => 0, 1000);`);
  tool.install();
  const { source } = open(tool.command);
  await untilUsed(source, 1234);
  assert.equal(tool.runs().length, 1);
});

test('a container that hides the figures is told as such, in the reading and once in the log', async () => {
  const tool = fakeTool(`say('3, 500, 81920'); setInterval(() => say('3, [N/A], [N/A]'), 10);`);
  tool.install();
  const { source, lines } = open(tool.command);
  await until(
    () => lines.length,
    (count) => count > 0,
  );
  assert.equal(reasonOf(source), 'nvidia-smi hides the memory of device 3: [N/A]');
  assert.deepEqual(
    lines.map(({ reason }) => reason),
    [reasonOf(source)],
  );
  assert.equal(tool.runs().length, 1);
});

test('what the tool says before it gives up is the reason, on either of its outputs', async () => {
  for (const output of ['stdout', 'stderr']) {
    const tool = fakeTool(`process.${output}.write('No devices were found\\n'); process.exitCode = 6;`);
    tool.install();
    const { source, lines } = open(tool.command);
    // It is asked again and again, and answers the same: the log says so once.
    await until(
      () => tool.runs().length,
      (count) => count >= 3,
    );
    assert.equal(reasonOf(source), 'nvidia-smi says: No devices were found');
    assert.deepEqual(
      lines.map(({ reason }) => reason),
      ['nvidia-smi says: No devices were found'],
    );
    source.stop();
  }
});

test('a tool that is missing is told as such, and found when it comes', async () => {
  const tool = fakeTool(`setInterval(() => say('3, 700, 81920'), 10);`);
  const { source, lines } = open(tool.command);
  await untilReason(source, /^there is no .*tool-\d+$/);
  assert.deepEqual([lines.length, lines[0]?.['reason']], [1, reasonOf(source)]);
  tool.install();
  await untilUsed(source, 700);
});

test('a tool that dies comes back; its last reading stands meanwhile, until it is stale', async () => {
  const tool = fakeTool(`
    if (run === 1) { say('3, 100, 81920'); setTimeout(() => process.kill(process.pid, 'SIGKILL'), 50); }
    else setInterval(() => say('3, 200, 81920'), 10);`);
  tool.install();
  const { source, lines, turned } = open(tool.command);
  await untilUsed(source, 100);
  await until(
    () => lines.length,
    (count) => count === 1,
  );
  assert.equal(lines[0]?.['reason'], 'nvidia-smi ended (SIGKILL)');
  assert.equal(readingOf(source)?.usedBytes, 100 * mebibyte);
  turned.ahead = staleAfterMs + 1;
  assert.equal(reasonOf(source), 'nvidia-smi ended (SIGKILL)');
  await untilUsed(source, 200);
  const [one, two] = tool.runs();
  assert.notEqual(one?.pid, two?.pid);
  assert.ok(one && !runs(one.pid));
});

test('a tool that hangs is started anew', async () => {
  const tool = fakeTool(`say('3, ' + run + ', 81920'); setInterval(() => 0, 1000);`);
  tool.install();
  const { source } = open(tool.command, { silentMs: 1500 });
  await until(
    () => readingOf(source)?.usedBytes ?? 0,
    (used) => used > mebibyte,
  );
  const [one] = tool.runs();
  assert.ok(one && !runs(one.pid));
});

test('a tool that speaks is left alone, however long it runs', async () => {
  const tool = fakeTool(`let used = 0; setInterval(() => say('3, ' + used++ + ', 81920'), 50);`);
  tool.install();
  const { source } = open(tool.command, { silentMs: 1500 });
  await until(
    () => readingOf(source)?.usedBytes ?? 0,
    (used) => used >= 40 * mebibyte,
  );
  assert.equal(tool.runs().length, 1);
});

test('a flood is ended, whether it has lines or none, and not at once begun again', async () => {
  for (const drop of ['3, 1, 2\\n', 'x']) {
    const flood = `const drop = '${drop}'.repeat(8192); (function pour() { process.stdout.write(drop, pour); })();`;
    const tool = fakeTool(flood);
    tool.install();
    const { source, turned } = open(tool.command);
    await until(
      () => tool.runs().length === 1 && !runs(tool.runs()[0]?.pid ?? 0),
      (ended) => ended,
    );
    turned.ahead = staleAfterMs + 1;
    await untilReason(source, /floods/);
    source.stop();
  }
});

test('what is stopped ends its tool, and begins none again', async () => {
  const tool = fakeTool(`process.on('SIGTERM', () => 0); setInterval(() => say('3, 1, 2'), 10);`);
  tool.install();
  const { source } = open(tool.command);
  await untilUsed(source, 1);
  const [first] = tool.runs();
  assert.ok(first && runs(first.pid));
  source.stop();
  await until(
    () => runs(first.pid),
    (running) => !running,
  );
  const dying = fakeTool('');
  dying.install();
  const { source: other } = open(dying.command);
  await untilReason(other, /status 0/);
  other.stop();
  // Longer than the first wait, which is half a second here.
  await new Promise((resolve) => setTimeout(resolve, 700));
  assert.deepEqual([tool.runs().length, dying.runs().length], [1, 1]);
});

/** Starts a process that watches a shell's output as nvidia-smi's; resolves with both once a reading has come. */
async function watcherOf(shell: string, name: string) {
  const command = join(folder, name);
  writeFileSync(command, `#!/bin/sh\n${shell}\n`, { mode: 0o755 });
  const script = join(folder, `${name}.mjs`);
  const module = new URL('../../../backend/memory/nvidia-smi.js', import.meta.url).href;
  writeFileSync(
    script,
    `import { openNvidiaSmi } from ${JSON.stringify(module)};
     const log = { info: () => 0, warn: () => 0 };
     const now = () => performance.now();
     const source = openNvidiaSmi({ command: process.argv[2], device: '0', log, now, random: Math.random });
     process.on('SIGTERM', () => process.exit(0));
     setInterval(() => { const { usedBytes } = source.read(); if (usedBytes) console.log(usedBytes / 1048576); }, 10);`,
  );
  const watcher = spawn(process.execPath, [script, command], { stdio: ['ignore', 'pipe', 'inherit'] });
  after(() => watcher.kill('SIGKILL'));
  // The shell tells its process id as its figure.
  const pid = await new Promise<number>((resolve) => watcher.stdout.once('data', (text) => resolve(parseInt(text))));
  assert.ok(runs(pid));
  after(() => runs(pid) && process.kill(pid, 'SIGKILL'));
  return { watcher, pid };
}

test('a process that is killed leaves no tool behind: it dies of a line that nobody takes', async () => {
  const { watcher, pid } = await watcherOf('while :; do echo "0, $$, 81920"; sleep 0.1; done', 'talker');
  watcher.kill('SIGKILL');
  await until(
    () => runs(pid),
    (running) => !running,
  );
});

test('a process that exits takes the tool along, though it would bear to be heard by nobody', async () => {
  const stubborn = `trap '' PIPE TERM; while :; do echo "0, $$, 81920" 2>/dev/null; sleep 0.1; done`;
  const { watcher, pid } = await watcherOf(stubborn, 'stubborn');
  watcher.kill('SIGTERM');
  await until(
    () => runs(pid),
    (running) => !running,
  );
});
