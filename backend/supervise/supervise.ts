import { constants } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Logger } from 'pino';
import { startChild, type Child } from './child.js';
import type { Environment } from './config.js';
import { endingInWords, exitCodes, type Ending } from './exit-codes.js';
import { nextWait, type Wait } from './next-wait.js';

export interface SuperviseOptions {
  /** Path of the script that each child runs. */
  readonly script: string;
  /** One per child. */
  readonly environments: readonly Environment[];
  readonly log: Logger;
  readonly random: () => number;
}

export interface Supervision {
  /** Passes a signal on to every child that runs. No child is started from the first one on. */
  passOn(signal: NodeJS.Signals): void;
  /** Resolves when no child runs any more, with the exit code that sums up their ends. */
  readonly ended: Promise<number>;
}

/**
 * Starts children and starts each one again when it ends, after a wait that grows. A child that cannot even start for
 * the first time never will: all others are drained then, and it is over.
 */
export function supervise(options: SuperviseOptions): Supervision {
  const running = new Set<Child>();
  const passedOn = new Set<NodeJS.Signals>();
  const stopping = new AbortController();
  const isStopping = () => stopping.signal.aborted;
  let gaveUp = false;
  const passOn = (signal: NodeJS.Signals) => {
    passedOn.add(signal);
    stopping.abort();
    for (const child of running) child.kill(signal);
  };

  /** Runs a child once. */
  const run = async (index: number, env: Environment) => {
    const startedAt = performance.now();
    const child = startChild(options.script, env);
    running.add(child);
    options.log.info({ index, child: child.pid }, 'a backend is started');
    const ending = await child.ended;
    running.delete(child);
    return { ending, pid: child.pid, hadStarted: child.started, livedMs: performance.now() - startedAt };
  };

  const keepRunning = async (index: number, env: Environment): Promise<number> => {
    let wait: Wait | undefined;
    while (!isStopping()) {
      const { ending, pid, hadStarted, livedMs } = await run(index, env);
      if (isStopping()) return exitCode(ending, passedOn);
      const about = { index, child: pid, reason: endingInWords(ending) };
      if (wait === undefined && !hadStarted && ending.code === exitCodes.cannotStart) {
        options.log.fatal(about, 'a backend cannot start; all end');
        gaveUp = true;
        passOn('SIGTERM');
        return exitCodes.cannotStart;
      }
      wait = nextWait(wait, livedMs, options.random());
      options.log.warn({ ...about, waitMs: Math.round(wait.waitMs) }, 'a backend ended, and is started again');
      await sleep(wait.waitMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
    return exitCodes.stopped;
  };

  const endings = options.environments.map((env, index) => keepRunning(index, env));
  const ended = Promise.all(endings).then((codes) => (gaveUp ? exitCodes.cannotStart : Math.max(...codes)));
  return { passOn, ended };
}

/** The code of an end after a signal was passed on. One that a signal ended before it could drain held nothing yet. */
function exitCode({ code, signal, error }: Ending, passedOn: ReadonlySet<NodeJS.Signals>): number {
  if (error) return exitCodes.cannotStart;
  if (code !== null) return code;
  if (signal === null) return exitCodes.cannotStart;
  return passedOn.has(signal) ? exitCodes.stopped : 128 + constants.signals[signal];
}
