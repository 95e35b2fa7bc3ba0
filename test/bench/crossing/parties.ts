import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { loadReportSchema, type Command, type LoadCommand, type LoadReport } from './messages.js';

/** A process of the bench that does what it is told over IPC. */
export interface Party {
  readonly pid: number;
  load(command: Omit<LoadCommand, 'do'>): Promise<LoadReport>;
  /** Changes a setting that the process knows. */
  tune(setting: string): Promise<void>;
}

/** Starts a module beside this one; resolves when it is ready. */
export type StartParty = (
  module: string,
  args: readonly string[],
  env?: Readonly<Record<string, string>>,
) => Promise<Party>;

/** Gives a bench a way to start such processes, and ends all of them, whatever happens. */
export async function withParties<Result>(work: (start: StartParty) => Promise<Result>): Promise<Result> {
  const children: ChildProcess[] = [];
  try {
    return await work(async (module, args, env = {}) => {
      const child = fork(fileURLToPath(new URL(module, import.meta.url)), args, {
        env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
        stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
      });
      children.push(child);
      await nextMessage(child);
      return partyOf(child);
    });
  } finally {
    await Promise.all(children.map(stop));
  }
}

function partyOf(child: ChildProcess): Party {
  if (child.pid === undefined) throw new Error('a process of the bench does not start');
  const ask = (command: Command) => {
    const answered = nextMessage(child);
    child.send(command);
    return answered;
  };
  return {
    pid: child.pid,
    load: async (command) => loadReportSchema.parse(await ask({ do: 'load', ...command })),
    tune: async (setting) => {
      await ask({ do: 'tune', setting });
    },
  };
}

const stopLimitMs = 15_000;

async function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, 'exit');
  if (child.connected) child.send({ do: 'stop' } satisfies Command);
  const bound = setTimeout(() => child.kill('SIGKILL'), stopLimitMs);
  await exited;
  clearTimeout(bound);
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`a process of the bench ended with ${String(code)}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}
