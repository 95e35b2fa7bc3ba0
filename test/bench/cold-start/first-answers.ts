import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { setTimeout as sleep } from 'node:timers/promises';
import { leash } from '../../../infra/setup/leash.js';
import { openConnection } from '../http/connection.js';
import { cpuMicrosOf } from '../process-cpu.js';

export interface Started {
  /** Milliseconds from the spawn to the first 200 of each path, in their order. */
  readonly ms: readonly number[];
  /** CPU of the process at the first of them, in milliseconds, to 10 ms. */
  readonly cpuMs: number;
}

export interface ColdStart {
  /** A module of the build, such as 'edge.mjs'. */
  readonly module: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Where it will listen. */
  readonly port: number;
  /** Asked one after the other, each until it is answered with 200. */
  readonly paths: readonly string[];
}

/** Between an attempt that was refused and the next. */
export const pauseMs = 2;
const limitMs = 30_000;
const dist = new URL('../../../', import.meta.url);

/**
 * Starts a process and asks it every few milliseconds until it answers; then ends it.
 * @throws Error when it ends by itself, or does not answer within half a minute
 */
export async function firstAnswers({ module, args, env, port, paths }: ColdStart): Promise<Started> {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [fileURLToPath(new URL(module, dist)), ...args], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'ignore', 'inherit'],
  });
  const { pid } = child;
  if (pid === undefined) throw new Error(`${module} does not start`);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const unleash = leash(pid);
  try {
    const ms: number[] = [];
    let cpuMs = 0;
    for (const path of paths) {
      await untilAnswered(port, path, () => child.exitCode ?? child.signalCode);
      ms.push(performance.now() - startedAt);
      if (ms.length === 1) cpuMs = cpuMicrosOf(pid) / 1000;
    }
    return { ms, cpuMs };
  } finally {
    child.kill('SIGTERM');
    await exited;
    unleash();
  }
}

async function untilAnswered(port: number, path: string, ended: () => number | string | null): Promise<void> {
  const head = `GET ${path} HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n`;
  for (const until = performance.now() + limitMs; performance.now() < until;) {
    if (ended() !== null) throw new Error(`it ended with ${String(ended())} before it answered`);
    const connection = await openConnection('127.0.0.1', port).catch(() => undefined);
    const status = await connection?.ask(head, undefined).catch(() => undefined);
    connection?.close();
    if (status === 200) return;
    await sleep(pauseMs);
  }
  throw new Error(`${path} was not answered with 200 in time`);
}
