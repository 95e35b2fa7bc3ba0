import type { Buffer } from 'node:buffer';
import { within } from './within.js';

type Value = Buffer | null;

export interface GatherOptions {
  /** Reads many keys with one command. */
  readonly read: (keys: string[]) => Promise<Value[]>;
  /** Milliseconds after which reads fail. */
  readonly timeoutMs: number;
  /** Runs a function when the requests that have already arrived have been looked at. */
  readonly nextTurn: (send: () => void) => unknown;
}

interface Read {
  readonly key: string;
  readonly resolve: (value: Value) => void;
  readonly reject: (error: unknown) => void;
}

/** Keys of one command: enough to share its cost, too few for Redis to keep others waiting. */
const mostKeys = 64;

/**
 * Reads of one turn of the event loop travel as one command, under one bound. For a busy edge a command costs as much as
 * all else that a read does; measured in test/bench/README.md.
 */
export function gatherReads({ read, timeoutMs, nextTurn }: GatherOptions): (key: string) => Promise<Value> {
  let gathered: Read[] = [];
  const send = () => {
    const reads = gathered;
    if (reads.length === 0) return;
    gathered = [];
    within(timeoutMs, read(reads.map(({ key }) => key))).then(
      (values) => {
        for (let i = 0; i < reads.length; i++) reads[i]?.resolve(values[i] ?? null);
      },
      (error: unknown) => {
        for (const { reject } of reads) reject(error);
      },
    );
  };
  return (key) =>
    new Promise((resolve, reject) => {
      const count = gathered.push({ key, resolve, reject });
      if (count === 1) nextTurn(send);
      else if (count === mostKeys) send();
    });
}
