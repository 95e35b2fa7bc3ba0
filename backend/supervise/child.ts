import { fork } from 'node:child_process';
import type { Environment } from './config.js';
import type { Ending } from './exit-codes.js';
import { startedMessage } from './tie.js';

/** A backend process that runs. */
export interface Child {
  readonly pid: number | undefined;
  /** Whether it has told that it serves. */
  readonly started: boolean;
  readonly ended: Promise<Ending>;
  kill(signal: NodeJS.Signals): void;
}

/** Starts a script with Node.js. What it writes is written by this process's own streams; it is told nothing. */
export function startChild(script: string, env: Environment): Child {
  const child = fork(script, {
    env: { ...env },
    // The channel tells the child when its supervisor is gone.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    // A group of its own: Ctrl-C reaches the whole foreground group, and signals are the supervisor's to pass on.
    detached: true,
  });
  let started = false;
  child.on('message', (message) => {
    if (message === startedMessage) started = true;
  });
  const ended = new Promise<Ending>((resolve) => {
    child.on('error', (error) => {
      if (child.pid === undefined) resolve({ code: null, signal: null, error });
    });
    child.once('exit', (code, signal) => resolve({ code, signal }));
  });
  return {
    pid: child.pid,
    get started() {
      return started;
    },
    ended,
    kill: (signal) => void child.kill(signal),
  };
}
