import { SpanStatusCode } from '@opentelemetry/api';
import type { Usage } from '../../contracts/usage.js';
import type { EdgeDeps } from '../deps.js';
import { problem } from '../problem.js';
import type { EdgeContext, Handle, RequestState } from '../request.js';
import { startRequestTrace } from '../telemetry.js';
import { requestIdFrom } from './request-id.js';

/**
 * A handler whose requests have their id and their server span, and whose log, metrics and trace tell how they ended.
 * What it throws is answered as a problem. One handler for each path: where several match, Hono composes them anew.
 * @param endpoint pattern of the route: the only name of a path that becomes a label
 */
export function observed(deps: EdgeDeps, endpoint: string, handle: Handle): (c: EdgeContext) => Promise<Response> {
  return async (c) => {
    const request = begin(deps, c, endpoint);
    c.set('request', request);
    const answer = await answerOf(deps, c, handle);
    if (request.streamed) void request.streamed.then(() => end(deps, c, request, answer.status));
    else end(deps, c, request, answer.status);
    return answer;
  };
}

async function answerOf(deps: EdgeDeps, c: EdgeContext, handle: Handle): Promise<Response> {
  try {
    return await handle(c);
  } catch (error) {
    return problem(deps, c, error);
  }
}

function begin(deps: EdgeDeps, c: EdgeContext, endpoint: string): RequestState {
  const { method } = c.req;
  return {
    requestId: requestIdFrom(c.req.header('x-request-id')),
    trace: startRequestTrace(deps.tracer, c.req.header('traceparent'), `${method} ${endpoint}`, {
      'http.request.method': method,
      'http.route': endpoint,
    }),
    startedAt: deps.clock.now(),
    endpoint,
    cache: 'none',
  };
}

function end(deps: EdgeDeps, c: EdgeContext, request: RequestState, status: number): void {
  const { requestId, trace, endpoint, cache, principal, model, bytes, pixels, code, paid } = request;
  const tenant = principal?.tenant;
  paid?.end();
  const tookMs = deps.clock.now() - request.startedAt;
  deps.metrics.apiLatency.record(tookMs / 1000, { endpoint, status, cache });
  const clientAddress = deps.clientAddress(c);
  const { traceId } = trace;
  const { method } = c.req;
  // Sixteen digits would take longer to write than all other numbers of the line.
  const ms = Math.round(tookMs * 1000) / 1000;
  // Spread into a new object, as for shorter lines, this would cost as much as writing the line.
  // prettier-ignore
  deps.accessLog({ requestId, traceId, tenant, clientAddress, method, endpoint, model, bytes, pixels, cache, status, code, ms });
  if (tenant !== undefined) deps.usage.count(tenant, usageOf(request, status));
  if (trace.sampled) describe(c, request, status, clientAddress);
  trace.span.end();
}

/** Pictures are those that were answered; a lookup that finds nothing has not failed. */
function usageOf({ cache, bytes, code, tally }: RequestState, status: number): Usage {
  const failures = status >= 400 && code !== 'result_not_found' ? 1 : 0;
  if (tally) return { requests: 1, pictures: tally.answered, hits: tally.hits, failures: tally.failed + failures };
  return {
    requests: 1,
    pictures: bytes !== undefined && status < 400 ? 1 : 0,
    hits: cache === 'hit' ? 1 : 0,
    failures,
  };
}

/** The rest of OpenTelemetry's conventions for a server span, written only where somebody will read it. */
function describe(c: EdgeContext, request: RequestState, status: number, clientAddress: string): void {
  const { requestId, trace, bytes, code } = request;
  trace.span.setAttributes({
    'http.response.status_code': status,
    'url.path': c.req.path,
    'url.scheme': c.req.url.startsWith('https:') ? 'https' : 'http',
    'client.address': clientAddress,
    'sampan.request_id': requestId,
    ...optional('user_agent.original', c.req.header('user-agent')),
    ...optional('http.request.body.size', bytes),
    ...optional('error.type', code),
  });
  if (status >= 500) trace.span.setStatus({ code: SpanStatusCode.ERROR });
}

function optional(name: string, value: string | number | undefined): Record<string, string | number> {
  return value === undefined ? {} : { [name]: value };
}
