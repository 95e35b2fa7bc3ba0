import { pino, type Level, type Logger } from 'pino';

export interface LoggerOptions {
  readonly level: Level | 'silent';
  /** Which part of the system speaks, such as `edge`; stands in every line. */
  readonly name: string;
}

/** Bytes that are collected before they are written, and milliseconds after which fewer are written too. */
const minLength = 65_536;
const maxWrite = 262_144;
const flushEveryMs = 200;

/**
 * A logger of JSON lines on stdout. Lines are collected and written in the background, so that a slow reader of stdout
 * does not stop the event loop; what is left is written when the process exits, also by process.exit().
 */
export function createLogger({ level, name }: LoggerOptions): Logger {
  const destination = pino.destination({ dest: 1, sync: false, minLength, maxWrite, periodicFlush: flushEveryMs });
  return pino(
    { level, name, base: { pid: process.pid }, formatters: { level: (label) => ({ level: label }) } },
    destination,
  );
}
