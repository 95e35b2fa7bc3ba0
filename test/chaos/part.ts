import { spawn, type ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { boundedLog } from '../../infra/setup/bounded-log.js';
import { leash } from '../../infra/setup/leash.js';
import { times } from './times.js';

/** One process of a part, from its start to its end. Times are those of this host's clock. */
export interface Life {
  readonly pid: number;
  readonly startedAt: number;
  /** When it first said that it was ready. */
  readyAt?: number;
  goneAt?: number;
  /** How it ended: `status 1`, `SIGKILL`. */
  how?: string;
  /** The last line that it wrote. */
  said?: string | undefined;
  /** When we ended it; undefined where that was not our doing. */
  askedAt?: number;
}

/** An edge or a backend as shipped, started again whenever it ends, as an operator's supervisor would. */
export interface Part {
  readonly name: string;
  readonly url: string;
  /** How far its host's clock is off. */
  readonly clockOffMs: number;
  readonly lives: readonly Life[];
  /** The life that is being lived. */
  readonly now: Life;
  readonly isReady: boolean;
  signal(signal: NodeJS.Signals): void;
  /** Drains it and starts it no more; answers how it ended. May be called twice. */
  stop(limitMs: number): Promise<string>;
}

export interface PartOptions {
  readonly name: string;
  readonly module: 'backend/main.js' | 'edge.mjs';
  /** Where /readyz is; the port is in the environment too. */
  readonly url: string;
  readonly env: Readonly<Record<string, string>>;
  readonly clockOffMs: number;
  /** Folder for its logs. */
  readonly dir: string;
}

const clockOffset = new URL('./clock-offset.js', import.meta.url).href;
const logBytes = 2 * 1024 * 1024;
const readyPollMs = 50;

interface Running {
  readonly life: Life;
  readonly child: ChildProcess;
  readonly ended: Promise<void>;
}

export function startPart(options: PartOptions): Part {
  const { name, url, clockOffMs } = options;
  const lives: Life[] = [];
  let stopping = false;
  let again: NodeJS.Timeout | undefined;
  const live = (): Running => {
    const running = startLife(options, lives.length);
    lives.push(running.life);
    void untilReady(running.life, url);
    void running.ended.then(() => {
      if (!stopping) again = setTimeout(() => (current = live()), times.restartAfterMs);
    });
    return running;
  };
  let current = live();
  return {
    ...{ name, url, clockOffMs, lives },
    get now() {
      return current.life;
    },
    get isReady() {
      return current.life.readyAt !== undefined && current.life.goneAt === undefined;
    },
    signal: (signal) => {
      if (signal === 'SIGKILL') noteAsked(current.life);
      current.child.kill(signal);
    },
    stop: async (limitMs) => {
      stopping = true;
      clearTimeout(again);
      noteAsked(current.life);
      current.child.kill('SIGCONT');
      current.child.kill('SIGTERM');
      const last = setTimeout(() => current.child.kill('SIGKILL'), limitMs);
      await current.ended;
      clearTimeout(last);
      return current.life.how ?? '';
    },
  };
}

/** What has ended by itself stays so. */
function noteAsked(life: Life): void {
  if (life.goneAt === undefined) life.askedAt ??= Date.now();
}

function startLife(options: PartOptions, number: number): Running {
  const path = fileURLToPath(new URL(`../../${options.module}`, import.meta.url));
  const log = boundedLog(join(options.dir, `${options.name}-${String(number)}.log`), logBytes);
  const child = spawn(process.execPath, ['--import', clockOffset, path], {
    env: {
      PATH: process.env['PATH'],
      ...options.env,
      SAMPAN_TEST_CLOCK_OFFSET_MS: String(options.clockOffMs),
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    // A group of its own: Ctrl-C is ours to pass on.
    detached: true,
  });
  if (child.pid === undefined) throw new Error(`${options.name} does not start`);
  const unleash = leash(child.pid);
  child.stdout.on('data', log.write);
  child.stderr.on('data', log.write);
  const life: Life = { pid: child.pid, startedAt: Date.now() };
  const ended = new Promise<void>((resolve) => {
    child.once('close', (code, signal) => {
      life.goneAt = Date.now();
      life.how = signal ?? `status ${String(code)}`;
      life.said = log.lastLines().at(-1);
      unleash();
      log.close();
      resolve();
    });
  });
  return { life, child, ended };
}

async function untilReady(life: Life, url: string): Promise<void> {
  while (life.goneAt === undefined) {
    if (await answersReady(url)) {
      life.readyAt = Date.now();
      return;
    }
    await new Promise((resolve) => setTimeout(resolve, readyPollMs));
  }
}

async function answersReady(url: string): Promise<boolean> {
  try {
    const response = await fetch(`${url}/readyz`, { signal: AbortSignal.timeout(1_000) });
    await response.arrayBuffer();
    return response.ok;
  } catch {
    return false;
  }
}
