import { closeSync, openSync, renameSync, writeSync } from 'node:fs';

/** A log file that never grows without bound, and its end kept at hand. */
export interface BoundedLog {
  readonly path: string;
  write(chunk: Buffer): void;
  /** The last lines that were written, at most 20. */
  lastLines(): readonly string[];
  close(): void;
}

const tailBytes = 16 * 1024;

/**
 * Opens a log file; when it has grown to `limitBytes` it is moved to `<path>.1`, over the one before, and begun anew.
 */
export function boundedLog(path: string, limitBytes = 16 * 1024 * 1024): BoundedLog {
  let file = openSync(path, 'w');
  let size = 0;
  let tail = '';
  return {
    path,
    write(chunk) {
      if (size + chunk.length > limitBytes && size > 0) {
        closeSync(file);
        renameSync(path, `${path}.1`);
        file = openSync(path, 'w');
        size = 0;
      }
      size += writeSync(file, chunk);
      tail = (tail + chunk.toString()).slice(-tailBytes);
    },
    lastLines: () => tail.trimEnd().split('\n').slice(-20),
    close: () => closeSync(file),
  };
}
