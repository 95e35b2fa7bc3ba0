import { maxHeaderSize, ServerResponse, STATUS_CODES } from 'node:http';
import type { Duplex } from 'node:stream';
import { RequestError } from '@hono/node-server';
import { Failure } from '../contracts/failure.js';
import { bareProblem } from './problem.js';

/** How long a client that was refused may go on sending. */
const lingerMs = 2_000;

/** The answer to a request whose target or host makes no URL, so that the app never saw it. */
export function answerRefused(error: unknown): Response {
  const isTheirs = error instanceof RequestError;
  const { body, ...init } = bareProblem(
    isTheirs ? new Failure('malformed_request', error.message) : new Failure('internal', 'the request was not handled'),
  );
  return new Response(body, init);
}

/**
 * Answers what Node's parser refused or waited for in vain, and closes the connection. Where an answer is being written
 * already nothing may be put into it. Closing at once would make TCP reset the connection under a client that still
 * sends, which would then lose the answer: what comes is thrown away for a while by the parser, which fails again with
 * every piece.
 */
export function answerUnparsed(error: Error & { readonly code?: string }, socket: Duplex): void {
  if (socket.destroyed || socket.writableEnded) return;
  if (!socket.writable || isAnswering(socket)) {
    socket.destroy();
    return;
  }
  socket.end(asText(failureOf(error)));
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => clearTimeout(timer));
}

/** Looks where Node's own handler looks; it has no other name. */
function isAnswering(socket: Duplex): boolean {
  return '_httpMessage' in socket && socket._httpMessage instanceof ServerResponse && socket._httpMessage.headersSent;
}

function failureOf({ code = 'unknown' }: { readonly code?: string }): Failure {
  switch (code) {
    case 'HPE_HEADER_OVERFLOW':
      return new Failure('headers_too_large', `they have more than ${maxHeaderSize} bytes`);
    case 'HPE_CHUNK_EXTENSIONS_OVERFLOW':
      return new Failure('body_too_large', 'the extensions of its chunks are too long');
    case 'ERR_HTTP_REQUEST_TIMEOUT':
      return new Failure('request_timeout', 'it began and did not end');
    default:
      return new Failure('malformed_request', `the parser says ${code}`);
  }
}

function asText(failure: Failure): string {
  const { status, headers, body } = bareProblem(failure);
  const fields = {
    ...headers,
    'content-length': String(Buffer.byteLength(body)),
    date: new Date().toUTCString(),
    connection: 'close',
  };
  const lines = Object.entries(fields).map(([name, value]) => `${name}: ${value}\r\n`);
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? ''}\r\n${lines.join('')}\r\n${body}`;
}
