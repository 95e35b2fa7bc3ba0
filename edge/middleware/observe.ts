import { SpanStatusCode } from '@opentelemetry/api';
import type { MiddlewareHandler } from 'hono';
import type { EdgeDeps } from '../deps.js';
import type { EdgeContext, EdgeEnv, RequestState } from '../request.js';
import { startRequestTrace } from '../telemetry.js';
import { requestIdFrom } from './request-id.js';

/**
 * Gives every request its id and its server span, and tells log, metrics and trace how it ended.
 * @param endpoint pattern of the route: the only name of a path that becomes a label
 */
export function observe(deps: EdgeDeps, endpoint: string): MiddlewareHandler<EdgeEnv> {
  return async (c, next) => {
    const request = begin(deps, c, endpoint);
    c.set('request', request);
    await next();
    end(deps, c, request, c.res.status);
  };
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
  const { requestId, trace, endpoint, cache, tenant, model, bytes, pixels, code } = request;
  const ms = deps.clock.now() - request.startedAt;
  deps.metrics.apiLatency.record(ms / 1000, { endpoint, status, cache });
  const clientAddress = deps.clientAddress(c);
  const { traceId } = trace;
  const { method } = c.req;
  deps.accessLog({
    ...{ requestId, traceId, tenant, clientAddress, method, endpoint, model, bytes, pixels, cache, status, code, ms },
  });
  if (trace.sampled) describe(c, request, status, clientAddress);
  trace.span.end();
}

/** The rest of OpenTelemetry's conventions for a server span, written only where somebody will read it. */
function describe(c: EdgeContext, { trace, bytes, code }: RequestState, status: number, clientAddress: string): void {
  trace.span.setAttributes({
    'http.response.status_code': status,
    'url.path': c.req.path,
    'url.scheme': c.req.url.startsWith('https:') ? 'https' : 'http',
    'client.address': clientAddress,
    ...optional('user_agent.original', c.req.header('user-agent')),
    ...optional('http.request.body.size', bytes),
    ...optional('error.type', code),
  });
  if (status >= 500) trace.span.setStatus({ code: SpanStatusCode.ERROR });
}

function optional(name: string, value: string | number | undefined): Record<string, string | number> {
  return value === undefined ? {} : { [name]: value };
}
