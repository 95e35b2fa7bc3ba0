import { Hono } from 'hono';
import { Failure } from '../contracts/failure.js';
import { byMethod, type Handles } from './by-method.js';
import { withCors } from './cors.js';
import type { EdgeDeps } from './deps.js';
import { observed } from './middleware/observe.js';
import { bareProblem, problem } from './problem.js';
import type { EdgeEnv, Handle } from './request.js';
import { batch } from './routes/batch.js';
import { showDocument, showPage } from './routes/described.js';
import { live, ready } from './routes/health.js';
import { lookup } from './routes/lookup.js';
import { listModels, showModel } from './routes/models.js';
import { predict } from './routes/predict.js';
import { taskEvents } from './routes/task-events.js';
import { cancelTask, showTask } from './routes/tasks.js';
import { listTraces, showTrace } from './routes/traces.js';

/** The edge's HTTP interface; runs wherever Hono does, with what the runtime needs in `deps`. */
export function createApp(deps: EdgeDeps): Hono<EdgeEnv> {
  const app = new Hono<EdgeEnv>();
  // What is thrown around a handler, not by it.
  app.onError((error, c) => ('request' in c.var ? problem(deps, c, error) : withoutId(deps, error)));
  const served = (endpoint: string, handle: Handle) =>
    observed(deps, endpoint, withCors(deps.config.corsOrigins, handle));
  const resource = (path: string, handles: Handles) => app.all(path, served(path, byMethod(deps, handles)));

  resource('/v1/models/:model/predict', { POST: predict(deps) });
  resource('/v1/models/:model/batch', { POST: batch(deps) });
  resource('/v1/models/:model/results/:md5', { GET: lookup(deps) });
  resource('/v1/models/:model', { GET: showModel(deps) });
  resource('/v1/models', { GET: listModels(deps) });
  resource('/v1/tasks/:id/events', { GET: taskEvents(deps) });
  resource('/v1/tasks/:id', { GET: showTask(deps), DELETE: cancelTask(deps) });
  resource('/v1/traces/:id', { GET: showTrace(deps) });
  resource('/v1/traces', { GET: listTraces(deps) });
  resource('/healthz', { GET: live() });
  resource('/readyz', { GET: ready(deps) });
  resource('/openapi.json', { GET: showDocument() });
  resource('/docs', { GET: showPage() });
  app.notFound(
    served('none', (c) => {
      throw new Failure('route_not_found', `no route for ${c.req.path.slice(0, 128)}; /docs tells what there is`);
    }),
  );
  return app;
}

/** Of a request that has not even an id. */
function withoutId(deps: EdgeDeps, error: unknown): Response {
  deps.reportError(error, '');
  const { body, ...init } = bareProblem(new Failure('internal', 'it happened before the request had an id'));
  return new Response(body, init);
}
