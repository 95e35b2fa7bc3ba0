import { pino, type Level, type Logger } from 'pino';

export interface LoggerOptions {
  readonly level: Level | 'silent';
  /** Which part of the system speaks, such as `edge`; stands in every line. */
  readonly name: string;
}

/** Lines that are collected before they are written, and milliseconds after which fewer are written too. */
const linesAtOnce = 256;
const flushEveryMs = 200;

/**
 * A logger of JSON lines on stdout. Lines are collected and written in the background, so that a slow reader of stdout
 * does not stop the event loop; what is left is written when the process exits, also by process.exit().
 */
export function createLogger({ level, name }: LoggerOptions): Logger {
  return pino(
    { level, name, base: { pid: process.pid }, formatters: { level: (label) => ({ level: label }) } },
    gatheredLines(),
  );
}

/** Bytes that the destination would write by itself, and writes at most: more than there ever are. */
const neverByItself = { minLength: 2 ** 29, maxWrite: 2 ** 30 };

/** pino's own destination measures all that it has collected at every line; so it is given many lines at a time. */
function gatheredLines(): { write(line: string): void } {
  const destination = pino.destination({ dest: 1, sync: false, ...neverByItself });
  let lines: string[] = [];
  const handOver = () => {
    if (lines.length > 0) destination.write(lines.join(''));
    lines = [];
  };
  const flush = () => {
    handOver();
    destination.flush();
  };
  setInterval(flush, flushEveryMs).unref();
  process.on('exit', () => {
    handOver();
    destination.flushSync();
  });
  return {
    write: (line) => {
      if (lines.push(line) >= linesAtOnce) flush();
    },
  };
}
