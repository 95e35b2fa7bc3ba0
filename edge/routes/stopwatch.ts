import type { Clock } from '../deps.js';

/** Where a request's time went, for the header `server-timing`. */
export interface Stopwatch {
  /** Notes the time since the last call of `lap` or `skip`. */
  lap(name: string): void;
  /** Leaves out the time since then. */
  skip(): void;
  /** Notes a time that was measured elsewhere, in milliseconds. */
  note(name: string, ms: number): void;
  serverTiming(): string;
}

export function startStopwatch(clock: Clock): Stopwatch {
  let since = clock.now();
  let header = '';
  const note = (name: string, ms: number) => {
    header += `${header === '' ? '' : ', '}${name};dur=${Math.max(0, ms).toFixed(2)}`;
  };
  return {
    note,
    lap: (name) => {
      const now = clock.now();
      note(name, now - since);
      since = now;
    },
    skip: () => {
      since = clock.now();
    },
    serverTiming: () => header,
  };
}
