import { spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { leash } from './leash.js';
import { prepareModels } from './models.js';
import { ensureRedisServer } from './redis-server.js';
import type { Terminal } from './terminal.js';

export interface TestRunOptions {
  /** The repository's folder. */
  readonly root: string;
  readonly env: NodeJS.ProcessEnv;
  readonly step: Terminal['step'];
  /** `check` leaves out what lies in a folder called integration; `long` runs the files called NAME.long.test with larger sizes. */
  readonly extent: 'check' | 'test' | 'long';
  /** Parts of paths; where there are any, only the test files that contain one of them are run. */
  readonly only: readonly string[];
}

/** Test files that run at a time: most of them wait for servers most of the time. */
const filesAtOnce = 2;

/** Minutes that all test files together may take. */
const limitMinutes = { check: 5, test: 10, long: 60 };

/**
 * Sets up what tests need, looks at lint and format, and runs the test files.
 * @throws Error when anything failed, was skipped, or no test was found; details have been printed by then
 */
export async function testRun(options: TestRunOptions): Promise<void> {
  const { root, env, step, extent, only } = options;
  const modelDir = env['MODEL_DIR'] ?? join(root, '.models');
  const redis = await step('Redis', async (say) => {
    const server = await ensureRedisServer(join(root, '.cache', 'redis'), say);
    say(`${server.product} ${server.version}`);
    return server;
  });
  await step('Models', (say) => prepareModels(root, modelDir, env, say));
  if (extent !== 'long' && only.length === 0) {
    const tool = (name: string, script: string, args: readonly string[]) =>
      step(name, () => runTool(root, join('node_modules', script), args));
    await tool('Types', 'typescript/bin/tsc', ['-p', 'infra/setup']);
    await tool('Lint', 'eslint/bin/eslint.js', ['--max-warnings', '0', '.']);
    await tool('Format', 'prettier/bin/prettier.cjs', ['--check', '--log-level', 'warn', '.']);
  }
  const files = testFiles(join(root, 'dist', 'test'), extent, only);
  if (files.length === 0) throw new Error('no test file was found');
  const testEnv = {
    ...env,
    MODEL_DIR: modelDir,
    SAMPAN_TEST_REDIS_BIN: redis.binary,
    ...(extent === 'long' ? { SAMPAN_TEST_LONG: '1' } : {}),
  };
  const endBy = performance.now() + limitMinutes[extent] * 60_000;
  const run = (those: readonly string[], atOnce: number) => runTests(root, those, testEnv, endBy, atOnce);
  await run(
    files.filter((file) => !isAlone(file)),
    filesAtOnce,
  );
  await run(files.filter(isAlone), 1);
}

const within = (folder: string) => (path: string) => path.startsWith(`${folder}/`) || path.includes(`/${folder}/`);
/** Starts a whole system. */
const isWhole = within('integration');
/** Loads the machine so that nothing else should run beside it. */
const isAlone = within('alone');
const isLong = (path: string) => path.endsWith('.long.test.js');

/** Test files of the build, those that need a whole system last. */
export function testFiles(dir: string, extent: TestRunOptions['extent'], only: readonly string[]): string[] {
  return readdirSync(dir, { recursive: true, encoding: 'utf8' })
    .map((path) => path.replaceAll('\\', '/'))
    .filter((path) => path.endsWith('.test.js'))
    .filter((path) => extent !== 'check' || !isWhole(path))
    .filter((path) => extent !== 'long' || isLong(path))
    .filter((path) => only.length === 0 || only.some((part) => path.includes(part)))
    .sort((a, b) => Number(isWhole(a)) - Number(isWhole(b)) || (a < b ? -1 : 1))
    .map((path) => join(dir, path));
}

/** Runs a tool quietly. @throws Error with all that it printed */
function runTool(root: string, script: string, args: readonly string[]): Promise<void> {
  return new Promise((resolve, reject) => {
    const tool = spawn(process.execPath, [script, ...args], { cwd: root, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    const note = (chunk: Buffer) => (output += chunk.toString());
    tool.stdout.on('data', note);
    tool.stderr.on('data', note);
    tool.once('error', reject);
    tool.once('close', (code) => (code === 0 ? resolve() : reject(new Error(output.trimEnd()))));
  });
}

/** @throws Error when the time is over, a test failed, or the files held none */
async function runTests(
  root: string,
  files: readonly string[],
  env: NodeJS.ProcessEnv,
  endBy: number,
  atOnce: number,
): Promise<void> {
  if (files.length === 0) return;
  const tapFile = join(root, '.cache', 'test.tap');
  mkdirSync(join(root, '.cache'), { recursive: true });
  const reporters = [
    ...['--test-reporter=spec', '--test-reporter-destination=stdout'],
    ...['--test-reporter=tap', `--test-reporter-destination=${tapFile}`],
  ];
  const args = ['--test', `--test-concurrency=${atOnce}`, '--enable-source-maps', ...reporters, ...files];
  const runner = spawn(process.execPath, args, {
    cwd: root,
    env,
    stdio: ['ignore', 'inherit', 'inherit'],
    timeout: Math.max(1, Math.ceil(endBy - performance.now())),
  });
  const unleash = runner.pid === undefined ? () => undefined : leash(runner.pid);
  const code = await new Promise<number | null>((resolve, reject) => {
    runner.once('error', reject);
    runner.once('close', resolve);
  });
  unleash();
  if (runner.killed) throw new Error('the tests took too long and were ended');
  if (code !== 0) throw new Error('there are tests that failed');
  refuseEmptyPromises(readFileSync(tapFile, 'utf8'));
}

/** Node's test runner calls a run without a single test, or with skipped ones, a success. */
function refuseEmptyPromises(tap: string): void {
  const count = (name: string) => Number(new RegExp(`^# ${name} (\\d+)$`, 'm').exec(tap)?.[1] ?? Number.NaN);
  if (!(count('tests') > 0)) throw new Error('no test was run');
  if (count('skipped') + count('todo') > 0) throw new Error('there are tests that were skipped; nothing may be');
}
