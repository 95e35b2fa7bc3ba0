import { spawn, type ChildProcess } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.js';
import { leash } from './leash.js';

export type RedisRole = 'stream' | 'cache';

export interface StartRedisOptions {
  readonly role: RedisRole;
  /** Path of the server program. */
  readonly binary: string;
  /** Fixed port on 127.0.0.1; a free one where left out. */
  readonly port?: number | undefined;
  /** Folder for data and log, kept at stop; a temporary one, removed at stop, where left out. */
  readonly dir?: string | undefined;
  /** Whether the stream role writes an append-only file, synced every second (default yes). */
  readonly appendOnly?: boolean | undefined;
  /** More of the server's own command line, such as ['--maxmemory', '50mb']. */
  readonly extra?: readonly string[] | undefined;
}

/** A server that this process started and will stop. */
export interface RunningRedis {
  readonly role: RedisRole;
  readonly port: number;
  readonly url: string;
  readonly pid: number;
  readonly dir: string;
  readonly logFile: string;
  /** Resolves when the process is gone, for whatever reason. */
  readonly exited: Promise<void>;
  /** Ends the process (SIGTERM, after 5 s SIGKILL) and removes its temporary folder. May be called twice. */
  stop(): Promise<void>;
}

const startLimitMs = 15_000;
const stopLimitMs = 5_000;

/**
 * Starts a private Redis on 127.0.0.1 and waits until it answers.
 * @throws Error with the last lines of the server's log when it does not come up
 */
export async function startRedis(options: StartRedisOptions): Promise<RunningRedis> {
  const tries = options.port === undefined ? 5 : 1;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startOnce(options, options.port ?? (await freePort()));
    } catch (error) {
      // Somebody else may take the free port before the server does.
      if (attempt >= tries || !String(error).includes('Address already in use')) throw error;
    }
  }
}

async function startOnce(options: StartRedisOptions, port: number): Promise<RunningRedis> {
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), `sampan-redis-${options.role}-`));
  mkdirSync(dir, { recursive: true });
  const logFile = join(dir, 'redis.log');
  const server = spawn(options.binary, serverArguments(options, port, dir, logFile), {
    stdio: 'ignore',
    detached: true,
  });
  const exited = gone(server);
  const state = { running: true };
  void exited.then(() => (state.running = false));
  if (server.pid === undefined) throw new Error(`${options.binary} does not start`);
  const unleash = leash(server.pid, options.dir === undefined ? dir : '');
  const stop = async () => {
    server.ref();
    if (state.running) await end(server, exited);
    unleash();
    if (options.dir === undefined) rmSync(dir, { recursive: true, force: true });
  };
  try {
    await untilItAnswers(port, server.pid, () => state.running);
  } catch (error) {
    const log = lastLines(logFile);
    await stop();
    throw new Error(`Redis (${options.role}) did not start on port ${port}\n${log}`, { cause: error });
  }
  server.unref();
  return { role: options.role, port, url: `redis://127.0.0.1:${port}`, pid: server.pid, dir, logFile, exited, stop };
}

function serverArguments(options: StartRedisOptions, port: number, dir: string, logFile: string): string[] {
  const settings: Record<string, string> = {
    port: String(port),
    bind: '127.0.0.1',
    dir,
    logfile: logFile,
    daemonize: 'no',
    save: '',
    appendonly: 'no',
    ...(options.role === 'stream'
      ? {
          'maxmemory-policy': 'noeviction',
          appendonly: (options.appendOnly ?? true) ? 'yes' : 'no',
          appendfsync: 'everysec',
          // The hash of a task is small; kept as a list it takes half the memory.
          'hash-max-listpack-value': '256',
        }
      : { 'maxmemory-policy': 'allkeys-lfu', maxmemory: '256mb' }),
  };
  return [...Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]), ...(options.extra ?? [])];
}

function gone(server: ChildProcess): Promise<void> {
  return new Promise((resolve) => {
    server.once('error', () => resolve());
    server.once('exit', () => resolve());
  });
}

async function end(server: ChildProcess, exited: Promise<void>): Promise<void> {
  server.kill('SIGTERM');
  const last = setTimeout(() => server.kill('SIGKILL'), stopLimitMs);
  await exited;
  clearTimeout(last);
}

async function untilItAnswers(port: number, pid: number, isRunning: () => boolean): Promise<void> {
  const limit = Date.now() + startLimitMs;
  while (Date.now() < limit) {
    if (!isRunning()) throw new Error('it ended at once');
    const answer = await ask(port);
    // A stranger's server on the same port would say PONG as well, so the process id counts.
    if (answer.startsWith('+PONG') && answer.includes(`process_id:${pid}\r`)) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  throw new Error('it did not answer in time');
}

/** Sends PING and INFO, in the protocol's inline form; what came back, or nothing where nobody listens. */
function ask(port: number): Promise<string> {
  return new Promise((resolve) => {
    let answer = '';
    const socket = connect({ port, host: '127.0.0.1' });
    socket.setEncoding('utf8').setTimeout(1_000, () => socket.destroy());
    socket.once('connect', () => socket.write('PING\r\nINFO server\r\nQUIT\r\n'));
    socket.on('data', (text: string) => (answer += text));
    socket.on('error', () => undefined);
    socket.once('close', () => resolve(answer));
  });
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, 'utf8').trimEnd().split('\n').slice(-8).join('\n');
  } catch {
    return '(it left no log)';
  }
}
