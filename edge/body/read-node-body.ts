import { Buffer } from 'node:buffer';
import { IncomingMessage, ServerResponse } from 'node:http';
import type { EdgeContext } from '../request.js';
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
    const settle = (finish: () => void) => {
      incoming.off('data', onData).off('end', onEnd).off('close', onCut);
      finish();
    };
    // A cut connection is an error, then a close; an error without a listener would end the process.
    incoming.on('data', onData).on('end', onEnd).on('close', onCut).on('error', ignore);
    if (incoming.destroyed) onCut();
  });
}

function ignore(): void {
  // The close that follows says it all.
}
