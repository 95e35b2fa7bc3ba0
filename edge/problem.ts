import type * as z from 'zod';
import { Failure, failures } from '../contracts/failure.js';
import { mayAsk } from './access/authorise.js';
import type { EdgeDeps } from './deps.js';
import type { problemSchema } from './openapi/problem-schemas.js';
import type { EdgeContext, RequestState } from './request.js';
import { respond } from './respond.js';
import { addSecureHeaders } from './secure-headers.js';

const retryAfterUnknown = 1;

/**
 * The answer to a failure: RFC 9457 application/problem+json. Whatever is no coded failure is reported and answered as
 * `internal`, without a word of what it was.
 */
export function problem(
  deps: EdgeDeps,
  c: EdgeContext,
  error: unknown,
  headers: Record<string, string> = {},
): Response {
  const request = c.get('request');
  const failure = coded(error);
  if (failure.code === 'internal') deps.reportError(failure.cause ?? failure, request.requestId);
  request.code = failure.code;
  const { status } = failures[failure.code];
  const body = {
    ...problemOf(failure),
    requestId: request.requestId,
    traceId: request.trace.traceId,
    ...(failure.code === 'model_not_found' ? { models: namesFor(deps, request) } : {}),
  };
  return respond(c, status, JSON.stringify(body), {
    'content-type': 'application/problem+json',
    ...(status === 401 ? { 'www-authenticate': 'Bearer realm="sampan"' } : {}),
    ...(status === 503 || status === 429 ? { 'retry-after': String(failure.retryAfter ?? retryAfterUnknown) } : {}),
    ...failure.fields,
    ...headers,
  });
}

/** The same for what never became a request with an id. */
export function bareProblem(failure: Failure): { status: number; headers: Record<string, string>; body: string } {
  const headers = { 'content-type': 'application/problem+json' };
  addSecureHeaders(headers);
  const body = problemOf(failure);
  return { status: body.status, headers, body: JSON.stringify(body) };
}

/** What RFC 9457 and our table say of a failure. */
export type ProblemBody = Readonly<z.infer<typeof problemSchema>>;

export function problemOf({ code, detail }: Failure): ProblemBody {
  const { status, retryable, message } = failures[code];
  return { type: `/problems/${code}`, title: message, status, code, detail, retryable };
}

/** Models that the caller may know of. */
function namesFor(deps: EdgeDeps, { principal }: RequestState): readonly string[] {
  return [...deps.models.catalogue().keys()].filter((name) => mayAsk(principal, name));
}

/** An error as a coded failure; what is none already is `internal`, with the error as its cause. */
export function coded(error: unknown): Failure {
  if (error instanceof Failure) return error;
  return new Failure('internal', 'the cause is in our log under the requestId', { cause: error });
}
