import { Hono } from 'hono';
import { Failure, failures } from '../contracts/failure.js';
import type { EdgeDeps } from './deps.js';
import { observed } from './middleware/observe.js';
import { problem } from './problem.js';
import type { EdgeEnv, Handle } from './request.js';
import { batch } from './routes/batch.js';
import { showDocument, showPage } from './routes/described.js';
import { live, ready } from './routes/health.js';
import { lookup } from './routes/lookup.js';
import { listModels, showModel } from './routes/models.js';
import { predict } from './routes/predict.js';
import { taskEvents } from './routes/task-events.js';
import { cancelTask, showTask } from './routes/tasks.js';

/** The edge's HTTP interface; runs wherever Hono does, with what the runtime needs in `deps`. */
export function createApp(deps: EdgeDeps): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>();
  // What is thrown around a handler, not by it.
  app.onError((error, c) => ('request' in c.var ? problem(deps, c, error) : bareProblem(deps, error)));
  const resource = (path: string, handles: Handles) => app.all(path, observed(deps, path, byMethod(deps, handles)));

  resource('/v1/models/:model/predict', { POST: predict(deps) });
  resource('/v1/models/:model/batch', { POST: batch(deps) });
  resource('/v1/models/:model/results/:md5', { GET: lookup(deps) });
  resource('/v1/models/:model', { GET: showModel(deps) });
  resource('/v1/models', { GET: listModels(deps) });
  resource('/v1/tasks/:id/events', { GET: taskEvents(deps) });
  resource('/v1/tasks/:id', { GET: showTask(deps), DELETE: cancelTask(deps) });
  resource('/healthz', { GET: live() });
  resource('/readyz', { GET: ready(deps) });
  resource('/openapi.json', { GET: showDocument() });
  resource('/docs', { GET: showPage() });
  app.notFound(
    observed(deps, 'none', (c) => {
      throw new Failure('route_not_found', `no route for ${c.req.path.slice(0, 128)}`);
    }),
  );
  return app;
}

type Handles = Readonly<Partial<Record<'GET' | 'POST' | 'DELETE', Handle>>>;

/** HEAD is GET without its body, which the server leaves out. */
function byMethod(deps: EdgeDeps, handles: Handles): Handle {
  const byName = new Map(Object.entries(handles));
  const { GET: get } = handles;
  if (get) byName.set('HEAD', get);
  const allow = [...byName.keys()].join(', ');
  return (c) => {
    const handle = byName.get(c.req.method);
    if (handle) return handle(c);
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
