import { Buffer } from 'node:buffer';
import { IncomingMessage, ServerResponse } from 'node:http';
import { Failure } from '../../contracts/failure.js';
import type { EdgeContext } from '../request.js';
import { within } from '../within.js';
import { discardRest } from './discard-rest.js';
import { incomplete, refuseAnnounced, tooLarge, type OnPiece } from './read-body.js';

/** What @hono/node-server hands on with a request. */
export interface NodeBindings {
  readonly incoming: IncomingMessage;
  readonly outgoing: ServerResponse;
}

/** Node's own objects behind a request. */
export function nodeBindings(c: EdgeContext): NodeBindings {
  const env = c.env;
  if (!('incoming' in env && env.incoming instanceof IncomingMessage)) throw new Error('this needs a Node server');
  if (!('outgoing' in env && isServerResponse(env.outgoing))) throw new Error('this needs a Node server');
  return { incoming: env.incoming, outgoing: env.outgoing };
}

function isServerResponse(value: unknown): value is ServerResponse {
  return value instanceof ServerResponse;
}

/** Milliseconds that a body may take that is read whole, and that one read bit by bit may say nothing while it is asked. */
const wholeBodyMs = 120_000;
const longestSilenceMs = 30_000;

/** Bodies that are being read bit by bit: nobody else can read these, though their answer begins, or is over. */
const readBitByBit = new WeakSet<IncomingMessage>();

/** Whether somebody is still reading a body bit by bit, or waits for its next piece. */
export function isBeingRead(incoming: IncomingMessage): boolean {
  return readBitByBit.has(incoming);
}

/**
 * A request's body as it arrives; what is not asked for stays with the client.
 * @throws Failure body_incomplete, while it is read
 */
export async function* nodeBodyPieces(c: EdgeContext): AsyncGenerator<Uint8Array> {
  const { incoming, outgoing } = nodeBindings(c);
  if (incoming.headers.expect?.toLowerCase() === '100-continue') outgoing.writeContinue();
  readBitByBit.add(incoming);
  const pieces = incoming.iterator({ destroyOnReturn: false });
  let received = 0;
  let isWaiting = false;
  try {
    for (;;) {
      isWaiting = true;
      const next = await within(longestSilenceMs, pieces.next(), () => silent(received));
      isWaiting = false;
      if (next.done) return;
      if (!Buffer.isBuffer(next.value)) throw new Error('a body consists of bytes');
      received += next.value.length;
      yield next.value;
    }
  } catch (error) {
    throw error instanceof Failure ? error : incomplete(received);
  } finally {
    if (!isWaiting) readBitByBit.delete(incoming);
    // Nobody waits for it, since it may itself wait for a piece; while it lasts nobody else can read the rest.
    pieces.return?.().catch(ignore);
  }
}

/** Throws away what a client still sends, where its connection closes behind the answer. */
export async function discardNodeBody(c: EdgeContext): Promise<void> {
  const { incoming, outgoing } = nodeBindings(c);
  if (!outgoing.shouldKeepAlive && !isBeingRead(incoming)) await discardRest(incoming);
}

/**
 * Reads a request's whole body off Node's own stream: a web stream around it costs more than the reading. A client that
 * asks first (`Expect: 100-continue`) is told to go on only here, when everything else about its request is in order.
 * What comes beyond the limit is left to `discardRest`.
 * @throws Failure body_too_large | body_incomplete
 */
export async function readNodeBody(c: EdgeContext, maxBytes: number, onPiece?: OnPiece): Promise<Buffer> {
  const { incoming, outgoing } = nodeBindings(c);
  refuseAnnounced(incoming.headers['content-length'], maxBytes);
  if (incoming.headers.expect?.toLowerCase() === '100-continue') outgoing.writeContinue();
  return collect(incoming, maxBytes, onPiece);
}

function collect(incoming: IncomingMessage, maxBytes: number, onPiece?: OnPiece): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    let length = 0;
    const onData = (chunk: Buffer) => {
      length += chunk.length;
      chunks.push(chunk);
      if (length > maxBytes) settle(() => reject(tooLarge(`more than ${maxBytes}`, maxBytes)));
      else onPiece?.(chunk);
    };
    const onEnd = () => settle(() => resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks)));
    const onCut = () => settle(() => reject(incomplete(length)));
    const timer = setTimeout(() => settle(() => reject(slow(length))), wholeBodyMs);
    const settle = (finish: () => void) => {
      clearTimeout(timer);
      incoming.off('data', onData).off('end', onEnd).off('close', onCut);
      finish();
    };
    // A cut connection is an error, then a close; an error without a listener would end the process.
    incoming.on('data', onData).on('end', onEnd).on('close', onCut).on('error', ignore);
    if (incoming.destroyed) onCut();
  });
}

function silent(received: number): Failure {
  return new Failure('body_incomplete', `after ${received} bytes of the body nothing came for ${longestSilenceMs} ms`);
}

function slow(received: number): Failure {
  return new Failure('body_incomplete', `only ${received} bytes of the body came within ${wholeBodyMs} ms`);
}

function ignore(): void {
  // The close that follows says it all.
}
