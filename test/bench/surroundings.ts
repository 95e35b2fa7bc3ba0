import { spawn, type ChildProcess } from 'node:child_process';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { leash } from '../../infra/setup/leash.js';
import {
  startRedis,
  type RedisRole,
  type RunningRedis,
  type StartRedisOptions,
} from '../../infra/setup/start-redis.js';
import { serverBinary } from '../redis.js';
import { startOtlpSink } from './otlp-sink.js';

/** A process that runs shipped code, or a rival. */
export interface Part {
  readonly pid: number;
  /** The log line that said that it was ready. */
  readonly ready: Readonly<Record<string, unknown>>;
  /** Where its ready line said that it listens; empty for who does not. */
  readonly url: string;
  /** SIGTERM, after 20 s SIGKILL. */
  stop(): Promise<void>;
}

/** What a bench starts, and what ends with it. */
export interface Surroundings {
  redis(role: RedisRole, options?: Partial<StartRedisOptions>): Promise<RunningRedis>;
  /** Where spans may be sent to, that are thrown away. */
  readonly otlpUrl: string;
  /**
   * Starts a module of the build as a process, such as 'edge.mjs', and waits for the line of its log (JSON) whose
   * `msg` is 'listening' (edges and bench servers) or 'ready' (backends), or that has a `ready` of true.
   */
  start(module: string, env: Readonly<Record<string, string>>, args?: readonly string[]): Promise<Part>;
}

/** Gives a bench its surroundings, and ends all that was started, whatever happens. */
export async function withSurroundings<Result>(work: (here: Surroundings) => Promise<Result>): Promise<Result> {
  const ends: (() => Promise<void>)[] = [];
  const binary = await serverBinary();
  const sink = await startOtlpSink();
  ends.push(() => sink.close());
  try {
    return await work({
      otlpUrl: sink.url,
      redis: async (role, options = {}) => {
        const server = await startRedis({ role, binary, ...options });
        ends.push(() => server.stop());
        return server;
      },
      start: async (module, env, args = []) => {
        const part = await startPart(module, env, args);
        ends.push(() => part.stop());
        return part;
      },
    });
  } finally {
    for (const end of ends.reverse()) await end().catch((error: unknown) => console.error(error));
  }
}

/** As shipped: one trace in a hundred is recorded and exported. */
export const tracingOnePercent = (otlpUrl: string): Record<string, string> => ({
  OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl,
  OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
  OTEL_TRACES_SAMPLER_ARG: '0.01',
});

/** What is not ready by then is ended. */
const readyLimitMs = 60_000;

const dist = new URL('../../', import.meta.url);

async function startPart(
  module: string,
  env: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Part> {
  const child = spawn(process.execPath, [fileURLToPath(new URL(module, dist)), ...args], {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  if (child.pid === undefined) throw new Error(`${module} does not start`);
  const unleash = leash(child.pid);
  const exited = new Promise<void>((resolve) => child.once('exit', () => resolve()));
  const bound = setTimeout(() => child.kill('SIGKILL'), readyLimitMs);
  const ready = await readyLine(child, module).finally(() => clearTimeout(bound));
  return {
    ...{ pid: child.pid, ready, url: typeof ready['url'] === 'string' ? ready['url'] : '' },
    stop: async () => {
      child.kill('SIGTERM');
      const bound = setTimeout(() => child.kill('SIGKILL'), 20_000);
      await exited;
      clearTimeout(bound);
      unleash();
    },
  };
}

/** The log is read to its end, and thrown away, or the process would wait for its reader. */
function readyLine(child: ChildProcess, module: string): Promise<Record<string, unknown>> {
  return new Promise((resolve, reject) => {
    if (!child.stdout) throw new Error('the process has no output');
    const lines = createInterface({ input: child.stdout });
    const last: string[] = [];
    lines.on('line', (text) => {
      last.splice(0, Math.max(0, last.length - 4), text);
      const line = readLine(text);
      if (line?.['msg'] !== 'listening' && line?.['msg'] !== 'ready' && line?.['ready'] !== true) return;
      lines.close();
      child.stdout?.resume();
      resolve(line);
    });
    child.once('exit', (code) => reject(new Error([`${module} ended with ${String(code)}`, ...last].join('\n'))));
  });
}

function readLine(text: string): Record<string, unknown> | undefined {
  try {
    const line: unknown = JSON.parse(text);
    return typeof line === 'object' && line !== null ? { ...line } : undefined;
  } catch {
    return undefined;
  }
}
