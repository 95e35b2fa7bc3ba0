import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { after } from 'node:test';
import { fileURLToPath } from 'node:url';

export interface TestProcess {
  readonly child: ChildProcess;
  /** Every line of its log that is JSON. */
  readonly log: readonly Record<string, unknown>[];
  /** What it wrote, of either kind. */
  readonly output: () => string;
  /** Resolves with the first log line that fits. Rejects when the process ends before it comes. */
  line(fits: (line: Record<string, unknown>) => boolean): Promise<Record<string, unknown>>;
  /** Resolves with the exit code, or the signal that ended it. */
  readonly exited: Promise<number | NodeJS.Signals | null>;
}

/** Starts the shipped backend or edge as a process of its own; what is left of it ends with the test file. */
export function startPart(module: 'backend/main.js' | 'edge.mjs', env: Readonly<Record<string, string>>): TestProcess {
  const path = fileURLToPath(new URL(`../../${module}`, import.meta.url));
  const child = spawn(process.execPath, [path], { env: { PATH: process.env['PATH'], ...env } });
  const log: Record<string, unknown>[] = [];
  let output = '';
  let hasEnded = false;
  let watchers: ((line: Record<string, unknown> | undefined) => void)[] = [];
  const tell = (line: Record<string, unknown> | undefined) => {
    for (const watch of watchers) watch(line);
  };
  createInterface({ input: child.stdout }).on('line', (text) => {
    output += `${text}\n`;
    const line = readLine(text);
    if (line) {
      log.push(line);
      tell(line);
    }
  });
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = new Promise<number | NodeJS.Signals | null>((resolve) => {
    child.once('close', (code, signal) => {
      resolve(code ?? signal);
      hasEnded = true;
      tell(undefined);
    });
  });
  after(() => child.kill('SIGKILL'));
  return {
    child,
    log,
    output: () => output,
    exited,
    line: (fits) =>
      new Promise((resolve, reject) => {
        const known = log.find(fits);
        if (known) {
          resolve(known);
          return;
        }
        if (hasEnded) {
          reject(new Error(`the process ended before it said that:\n${output}`));
          return;
        }
        const watch = (line: Record<string, unknown> | undefined) => {
          if (line && !fits(line)) return;
          watchers = watchers.filter((one) => one !== watch);
          if (line) resolve(line);
          else reject(new Error(`the process ended before it said that:\n${output}`));
        };
        watchers.push(watch);
      }),
  };
}

function readLine(text: string): Record<string, unknown> | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? { ...value } : undefined;
  } catch {
    return undefined;
  }
}

export const isReady = (line: Record<string, unknown>): boolean => line['msg'] === 'ready';
