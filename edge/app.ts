import { Hono } from 'hono';
import { Failure, failures } from '../contracts/failure.js';
import type { EdgeDeps } from './deps.js';
import { observed } from './middleware/observe.js';
import { problem } from './problem.js';
import type { EdgeEnv, Handle } from './request.js';
import { live, ready } from './routes/health.js';
import { lookup } from './routes/lookup.js';
import { listModels, showModel } from './routes/models.js';
import { predict } from './routes/predict.js';

/** The edge's HTTP interface; runs wherever Hono does, with what the runtime needs in `deps`. */
export function createApp(deps: EdgeDeps): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>();
  // What is thrown around a handler, not by it.
  app.onError((error, c) => ('request' in c.var ? problem(deps, c, error) : bareProblem(deps, error)));
  const resource = (method: 'GET' | 'POST', path: string, handle: Handle) =>
    app.all(path, observed(deps, path, onlyFor(deps, method === 'GET' ? ['GET', 'HEAD'] : [method], handle)));

  resource('POST', '/v1/models/:model/predict', predict(deps));
  resource('GET', '/v1/models/:model/results/:md5', lookup(deps));
  resource('GET', '/v1/models/:model', showModel(deps));
  resource('GET', '/v1/models', listModels(deps));
  resource('GET', '/healthz', live());
  resource('GET', '/readyz', ready(deps));
  app.notFound(
    observed(deps, 'none', (c) => {
      throw new Failure('route_not_found', `no route for ${c.req.path.slice(0, 128)}`);
    }),
  );
  return app;
}

function onlyFor(deps: EdgeDeps, methods: readonly string[], handle: Handle): Handle {
  const allow = methods.join(', ');
  return (c) => {
    if (methods.includes(c.req.method)) return handle(c);
    const failure = new Failure('method_not_allowed', `${c.req.method} is not allowed here, only ${allow}`);
    return problem(deps, c, failure, { allow });
  };
}

/** Of a request that has not even an id. */
function bareProblem(deps: EdgeDeps, error: unknown): Response {
  deps.reportError(error, '');
  const { status, retryable, message: title } = failures.internal;
  const body = JSON.stringify({ type: '/problems/internal', title, status, code: 'internal', retryable });
  return new Response(body, { status, headers: { 'content-type': 'application/problem+json' } });
}
