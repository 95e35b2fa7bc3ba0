import { spawn } from 'node:child_process';
import { leash } from '../setup/leash.js';

/** A process of the system that was started here. */
export interface Part {
  readonly name: string;
  /** Waits until the URL answers 200. @throws Error with the part's last lines when it ends before, or takes too long */
  untilReady(url: string, timeoutMs: number): Promise<void>;
  /** Asks it to end by SIGTERM and waits until it has; after 15 s it is killed. */
  stop(): Promise<void>;
}

const stopLimitMs = 15_000;
const keptLines = 30;

/** Starts a script of the project with this Node.js; it cannot outlive this process. */
export function startPart(name: string, script: string, env: NodeJS.ProcessEnv): Part {
  const child = spawn(process.execPath, [script], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  const lines: string[] = [];
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      lines.push(...text.trimEnd().split('\n'));
      lines.splice(0, lines.length - keptLines);
    });
  }
  const state = { running: true };
  const exited = new Promise<void>((resolve) => {
    child.once('error', (error) => lines.push(error.message));
    child.once('close', () => {
      state.running = false;
      resolve();
    });
  });
  const unleash = child.pid === undefined ? () => undefined : leash(child.pid);
  return {
    name,
    untilReady: async (url, timeoutMs) => {
      const limit = Date.now() + timeoutMs;
      while (!(await answers(url))) {
        if (!state.running) throw new Error(`the ${name} ended before it was ready:\n${lines.join('\n')}`);
        if (Date.now() > limit) throw new Error(`the ${name} is not ready after ${timeoutMs} ms:\n${lines.join('\n')}`);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    },
    stop: async () => {
      child.kill('SIGTERM');
      const last = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
      await exited;
      clearTimeout(last);
      unleash();
    },
  };
}

async function answers(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.arrayBuffer();
    return response.status === 200;
  } catch {
    return false;
  }
}
