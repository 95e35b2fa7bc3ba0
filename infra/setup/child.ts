import { spawn } from 'node:child_process';
import * as z from 'zod';
import { boundedLog } from './bounded-log.js';
import { leash } from './leash.js';

/** A part of Sampan that runs as a child process. */
export interface Child {
  readonly name: string;
  readonly logFile: string;
  /** Resolves when the process is gone: `status 1`, `SIGKILL` and the like. */
  readonly exited: Promise<string>;
  lastLines(): readonly string[];
  /** SIGTERM, and SIGKILL after the limit. May be called twice. */
  stop(limitMs: number): Promise<void>;
}

/** Starts a script of ours with Node.js; its output goes to a bounded file. */
export function startChild(name: string, script: string, env: NodeJS.ProcessEnv, logFile: string): Child {
  const log = boundedLog(logFile);
  // A group of its own: Ctrl-C reaches the whole foreground group, and the order of stopping is ours to keep.
  const child = spawn(process.execPath, ['--enable-source-maps', script], {
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  });
  const unleash = child.pid === undefined ? () => undefined : leash(child.pid);
  child.stdout.on('data', log.write);
  child.stderr.on('data', log.write);
  let running = true;
  const exited = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, signal) => resolve(signal ?? `status ${code}`));
  }).finally(() => {
    running = false;
    unleash();
    log.close();
  });
  const stop = async (limitMs: number) => {
    if (running) child.kill('SIGTERM');
    const last = setTimeout(() => child.kill('SIGKILL'), limitMs);
    await exited;
    clearTimeout(last);
  };
  return { name, logFile, exited, lastLines: log.lastLines, stop };
}

/** Milliseconds after which a child that lives is believed to hold its port, though its log does not say so. */
const believedAfterMs = 3_000;

/**
 * Waits until a child's readiness address answers 200, and it is the child that answers: somebody else's process may
 * have taken the port in between.
 * @param base the address that the child tells in its log once it listens
 * @throws Error when the child ends before that, or it takes longer than `limitMs`
 */
export async function untilReady(child: Child, base: string, limitMs: number): Promise<void> {
  let gone: string | undefined;
  void child.exited.then((how) => (gone = how));
  let answer = 'no answer';
  const begun = Date.now();
  const isTheChild = () =>
    child.lastLines().some((line) => line.includes(`"${base}"`)) || Date.now() - begun > believedAfterMs;
  for (const limit = begun + limitMs; Date.now() < limit;) {
    if (gone !== undefined) throw new Error(endedUnasked(child, gone));
    answer = await ask(`${base}/readyz`);
    if (answer === 'ready' && isTheChild()) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(
    `the ${child.name} is not ready after ${limitMs / 1_000} s (${answer}); it said last:\n${said(child)}`,
  );
}

async function ask(url: string): Promise<string> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    const text = await response.text();
    return response.ok ? 'ready' : `${response.status} ${text.slice(0, 300)}`;
  } catch {
    return 'no answer';
  }
}

/** For people: which part ended though nobody asked it to, and what it said last. */
export function endedUnasked(child: Child, how: string): string {
  return `the ${child.name} ended (${how}); it said last:\n${said(child)}\n  its log: ${child.logFile}`;
}

function said(child: Child): string {
  return child
    .lastLines()
    .map((line) => `  ${readable(line)}`)
    .join('\n');
}

const logLineSchema = z.object({ msg: z.string(), err: z.object({ message: z.string() }).optional() });

/** The message of a JSON log line with its error's; any other line as it is. */
function readable(line: string): string {
  if (!line.startsWith('{')) return line;
  try {
    const { msg, err } = logLineSchema.parse(JSON.parse(line));
    return err ? `${msg}: ${err.message}` : msg;
  } catch {
    return line;
  }
}
