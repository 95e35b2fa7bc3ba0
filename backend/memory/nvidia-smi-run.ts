import { spawn } from 'node:child_process';
import { boundedLines } from './bounded-lines.js';

export interface SmiRunOptions {
  readonly command: string;
  /** What `-i` takes: an index, a UUID or a bus address. */
  readonly device: string;
  readonly onLine: (line: string) => void;
  /** Milliseconds without a word after which the run is ended. */
  readonly silentMs: number;
}

/** One run of the tool. */
export interface SmiRun {
  /** Resolves with the reason, for people. */
  readonly ended: Promise<string>;
  end(): void;
}

const longestLine = 1000;
/** Characters in a second that are more than any number of readings. */
const floodPerSecond = 256 * 1024;

/**
 * Starts nvidia-smi so that it tells a line a second until it is ended. It is ended with this process however that
 * exits; where this process is killed, the tool dies of its next line, which nobody takes any more.
 */
export function runNvidiaSmi({ command, device, onLine, silentMs }: SmiRunOptions): SmiRun {
  const query = ['--query-gpu=index,memory.used,memory.total', '--format=csv,noheader,nounits'];
  const child = spawn(command, [...query, '-i', device, '-lms', '1000'], { stdio: ['ignore', 'pipe', 'pipe'] });
  let cause: string | undefined;
  const end = () => {
    // It only asks, so there is nothing that a gentler signal would let it finish.
    child.kill('SIGKILL');
    // Where the command is a wrapper, what it started has nobody to talk to any more.
    child.stdout.destroy();
    child.stderr.destroy();
  };
  const endBecause = (why: string) => {
    cause ??= why;
    end();
  };

  const silence = setTimeout(() => endBecause(`nvidia-smi said nothing for ${silentMs / 1000} s`), silentMs);
  let heard = 0;
  const quota = setInterval(() => (heard = 0), 1000);
  for (const stream of [child.stdout, child.stderr]) {
    const take = boundedLines(longestLine, (line) => {
      if (line !== '') onLine(line);
    });
    stream.setEncoding('utf8').on('data', (chunk: string) => {
      silence.refresh();
      heard += chunk.length;
      if (heard > floodPerSecond) endBecause('nvidia-smi floods its output');
      else take(chunk);
    });
  }

  process.on('exit', end);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(isMissing(error) ? `there is no ${command}` : error.message));
    child.once('close', (code, signal) => resolve(cause ?? `nvidia-smi ended (${signal ?? `status ${code}`})`));
  }).finally(() => {
    process.off('exit', end);
    clearTimeout(silence);
    clearInterval(quota);
  });
  return { ended, end };
}

const isMissing = (error: Error): boolean => 'code' in error && error.code === 'ENOENT';
