import { Buffer } from 'node:buffer';
import { INVALID_TRACEID } from '@opentelemetry/api';
import { gzip, isLong, negotiateGzip } from './compress.js';
import type { EdgeContext, RequestState } from './request.js';
import { addSecureHeaders } from './secure-headers.js';
import { addVary } from './vary.js';

/** Fresh for each answer: what every answer has is added to it. */
export type Headers = Record<string, string>;

/**
 * An answer with the headers that every answer has. A plain record that grows: a Headers object would cost more than the
 * rest, and spreading records into a new one took a tenth of what a lookup costs.
 */
export function respond(c: EdgeContext, status: number, body: Uint8Array | string | null, headers: Headers): Response {
  addCommon(c.get('request'), headers);
  // Of what is not sent again nobody knows the length.
  if (status === 304) addVary(headers, 'accept-encoding');
  const isGzip = body !== null && isLong(body) && negotiateGzip(c.req.header('accept-encoding'), headers);
  if (c.req.method !== 'HEAD') return new Response(isGzip ? gzip(body) : body, { status, headers });
  if (body !== null && !isGzip) headers['content-length'] = String(Buffer.byteLength(body));
  return new Response(null, { status, headers });
}

/** A JSON answer. */
export function respondJson(c: EdgeContext, status: number, value: unknown, headers: Headers = {}): Response {
  return respond(c, status, JSON.stringify(value), { 'content-type': 'application/json', ...headers });
}

/** An answer that is written piece by piece, as the client takes it; a client that goes away ends the source. */
export function respondStream(c: EdgeContext, type: string, source: AsyncGenerator<string>): Response {
  const headers: Headers = { 'content-type': type, 'cache-control': 'no-store', 'x-accel-buffering': 'no' };
  const request = c.get('request');
  addCommon(request, headers);
  let end: () => void = () => undefined;
  request.streamed = new Promise<void>((resolve) => (end = resolve));
  const encoder = new TextEncoder();
  const body = new ReadableStream<Uint8Array>({
    pull: async (controller) => {
      try {
        const piece = await source.next();
        if (!piece.done) {
          controller.enqueue(encoder.encode(piece.value));
          return;
        }
        controller.close();
      } catch (error) {
        controller.error(error);
      }
      end();
    },
    cancel: async () => {
      end();
      await source.return(undefined);
    },
  });
  return new Response(body, { status: 200, headers });
}

function addCommon({ requestId, trace, paid, cors }: RequestState, headers: Headers): void {
  headers['x-request-id'] = requestId;
  if (trace.traceId !== INVALID_TRACEID) headers['traceresponse'] = trace.traceparent();
  if (paid) Object.assign(headers, paid.fields);
  addSecureHeaders(headers);
  if (cors) addCors(headers, cors);
}

function addCors(headers: Headers, { vary, ...others }: Readonly<Record<string, string>>): void {
  Object.assign(headers, others);
  if (vary !== undefined) addVary(headers, vary);
}
