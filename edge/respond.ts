import { INVALID_TRACEID } from '@opentelemetry/api';
import type { EdgeContext, RequestState } from './request.js';

type Headers = Readonly<Record<string, string>>;

/** An answer with the headers that every answer has. Plain records: a Headers object would cost more than the rest. */
export function respond(c: EdgeContext, status: number, body: Uint8Array | string | null, headers: Headers): Response {
  return new Response(body, { status, headers: { ...commonHeaders(c.get('request')), ...headers } });
}

/** A JSON answer. */
export function respondJson(c: EdgeContext, status: number, value: unknown, headers: Headers = {}): Response {
  return respond(c, status, JSON.stringify(value), { 'content-type': 'application/json', ...headers });
}

function commonHeaders({ requestId, trace, paid }: RequestState): Headers {
  if (trace.traceId === INVALID_TRACEID) return { 'x-request-id': requestId, ...paid?.fields };
  return { 'x-request-id': requestId, traceresponse: trace.traceparent(), ...paid?.fields };
}
