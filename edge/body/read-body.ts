import { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';
import type { EdgeContext } from '../request.js';

/** Told of each piece of a body as it arrives. */
export type OnPiece = (piece: Uint8Array) => void;

/**
 * Reads a request's whole body through web streams, which every runtime has.
 * @throws Failure body_too_large | body_incomplete
 */
export async function readBody(c: EdgeContext, maxBytes: number, onPiece?: OnPiece): Promise<Buffer> {
  refuseAnnounced(c.req.header('content-length'), maxBytes);
  const stream: ReadableStream<Uint8Array> | null = c.req.raw.body;
  if (!stream) return Buffer.alloc(0);
  const chunks: Uint8Array[] = [];
  let length = 0;
  try {
    for await (const chunk of stream) {
      length += chunk.length;
      if (length > maxBytes) throw tooLarge(`more than ${maxBytes}`, maxBytes);
      chunks.push(chunk);
      onPiece?.(chunk);
    }
  } catch (error) {
    throw error instanceof Failure ? error : incomplete(length);
  }
  return Buffer.concat(chunks, length);
}

const noPieces: AsyncIterable<Uint8Array> = {
  [Symbol.asyncIterator]: () => ({ next: () => Promise.resolve({ done: true, value: undefined }) }),
};

/**
 * A request's body as it arrives, through web streams.
 * @throws Failure body_incomplete, while it is read
 */
export async function* bodyPieces(c: EdgeContext): AsyncGenerator<Uint8Array> {
  const stream: ReadableStream<Uint8Array> | null = c.req.raw.body;
  let length = 0;
  try {
    for await (const piece of stream ?? noPieces) {
      length += piece.length;
      yield piece;
    }
  } catch {
    throw incomplete(length);
  }
}

/**
 * Refuses a body by its announced length, before any of it is read.
 * @throws Failure body_too_large
 */
export function refuseAnnounced(contentLength: string | undefined, maxBytes: number): void {
  if (contentLength !== undefined && Number(contentLength) > maxBytes) throw tooLarge(contentLength, maxBytes);
}

export function tooLarge(length: string, maxBytes: number): Failure {
  return new Failure('body_too_large', `the body has ${length} bytes, allowed are ${maxBytes}`);
}

export function incomplete(received: number): Failure {
  return new Failure('body_incomplete', `the connection ended after ${received} bytes of the body`);
}
