import { Failure } from '../../contracts/failure.js';
import type { Batch } from './batch.js';

/** @throws Failure where no further picture of a batch is to be looked at: the edge stops, or the client has gone */
export function refuseToGoOn({ deps, signal }: Batch): void {
  if (deps.stopping.aborted) throw new Failure('edge_stopping', 'send this image and those after it again');
  if (signal.aborted) throw new Failure('body_incomplete', 'the client has gone');
}

/** Settles as what a batch waits for does. @throws Failure as soon as the edge stops, or the client has gone */
export async function untilBrokenOff<T>(batch: Batch, waitedFor: Promise<T>): Promise<T> {
  const signals = [batch.deps.stopping, batch.signal];
  let hear: () => void = () => undefined;
  const heard = new Promise<void>((resolve) => (hear = resolve));
  // Nobody may be left to hear what comes of it.
  waitedFor.catch(() => undefined);
  for (const signal of signals) signal.addEventListener('abort', hear, { once: true });
  try {
    refuseToGoOn(batch);
    await Promise.race([heard, waitedFor]);
    refuseToGoOn(batch);
    return await waitedFor;
  } finally {
    for (const signal of signals) signal.removeEventListener('abort', hear);
  }
}
