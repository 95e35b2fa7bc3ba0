import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';
import type { LoadReport } from './caller-load.js';
import type { Command } from './messages.js';

const cpuAnswer = z.object({ cpuMicros: z.number() });
const loadAnswer = z.object({
  tasks: z.number(),
  seconds: z.number(),
  cpuMicros: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
});

/** A process of the bench. */
export interface Party {
  readonly pid: number | undefined;
  /** User and system time since its start. */
  cpuMicros(): Promise<number>;
  load(command: Extract<Command, { do: 'load' }>): Promise<LoadReport>;
  stop(): Promise<void>;
}

/** Starts a module beside this one as a process of its own; resolves when it is ready. */
export async function startParty(module: string, args: readonly string[], env: Record<string, string>): Promise<Party> {
  const child = fork(fileURLToPath(new URL(module, import.meta.url)), args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await nextMessage(child);
  const ask = (command: Command) => {
    const answered = nextMessage(child);
    child.send(command);
    return answered;
  };
  return {
    pid: child.pid,
    cpuMicros: async () => cpuAnswer.parse(await ask({ do: 'cpu' })).cpuMicros,
    load: async (command) => loadAnswer.parse(await ask(command)),
    stop: async () => {
      const exited = once(child, 'exit');
      child.send({ do: 'stop' } satisfies Command);
      const bound = setTimeout(() => child.kill('SIGKILL'), 15_000);
      await exited;
      clearTimeout(bound);
    },
  };
}

async function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a process of the bench ended with ${String(code)}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}
