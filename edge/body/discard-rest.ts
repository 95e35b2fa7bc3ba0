import type { IncomingMessage } from 'node:http';

export interface DiscardBounds {
  /** Most bytes that are thrown away before the connection is cut. */
  readonly maxBytes: number;
  readonly maxMs: number;
}

const defaultBounds: DiscardBounds = { maxBytes: 256 * 1024 * 1024, maxMs: 30_000 };

/**
 * Throws away what a client still sends of a body that has been answered already. Closing instead would make TCP reset
 * the connection, and many clients then lose the answer that says what was wrong.
 * Resolves when the body has ended or the connection is gone; beyond the bounds the connection is cut.
 */
export function discardRest(incoming: IncomingMessage, bounds: DiscardBounds = defaultBounds): Promise<void> {
  if (incoming.readableEnded || incoming.destroyed) return Promise.resolve();
  return new Promise((resolve) => {
    let discarded = 0;
    const cut = () => {
      incoming.socket.destroy();
      done();
    };
    const onData = (chunk: Buffer) => {
      discarded += chunk.length;
      if (discarded > bounds.maxBytes) cut();
    };
    const done = () => {
      clearTimeout(timer);
      incoming.off('data', onData).off('end', done).off('close', done);
      resolve();
    };
    const timer = setTimeout(cut, bounds.maxMs);
    timer.unref();
    incoming.on('data', onData).on('end', done).on('close', done);
    incoming.resume();
  });
}
