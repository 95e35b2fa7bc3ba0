import * as z from 'zod';
import { Failure } from '../../contracts/failure.js';
import { modelNameSchema } from '../../contracts/model.js';
import { verdictText } from '../../contracts/trace-verdict.js';
import { permit } from '../access/authorise.js';
import type { EdgeDeps } from '../deps.js';
import type { TraceAnswer, TraceList } from '../openapi/trace-schemas.js';
import { queryOf } from '../query.js';
import type { Handle } from '../request.js';
import { respondJson } from '../respond.js';
import { identify } from './identify.js';

/** What a list may be asked for. */
export const traceQuerySchema = z.strictObject({
  model: modelNameSchema.optional(),
  minMs: z.coerce.number('expected milliseconds').min(0).max(3_600_000).optional(),
  status: z
    .string()
    .regex(/^[1-5](\d\d)?$/, 'expected a status, or its first digit')
    .optional(),
  since: z.iso.datetime('expected a time such as 2027-06-30T09:30:00Z').optional(),
  count: z.coerce.number('expected a number').int().min(1).max(100).default(20),
});

/** `GET /v1/traces`: those that are kept, the last or the slowest first. */
export function listTraces(deps: EdgeDeps): Handle {
  return async (c) => {
    permit(await identify(deps, c), 'ops');
    const asked = traceQuerySchema.safeParse(Object.fromEntries(queryOf(c.req.url)));
    if (!asked.success) throw wrongQuery(asked.error);
    const { model, minMs, status, since, count } = asked.data;
    const sinceMs = since === undefined ? undefined : Date.parse(since);
    const found = await deps.traces.search({ model, minMs, status, sinceMs }, count);
    const traces = found.map(({ startMs, ms, ...rest }) => ({
      ...{ ...rest, start: new Date(startMs).toISOString() },
      ...(ms === undefined ? {} : { ms }),
    }));
    return respondJson(c, 200, { traces } satisfies TraceList);
  };
}

/** `GET /v1/traces/:id`: a trace by its id, its request's or its task's. */
export function showTrace(deps: EdgeDeps): Handle {
  return async (c) => {
    permit(await identify(deps, c), 'ops');
    const { traceId, request, spans } = await deps.traces.investigate((c.req.param('id') ?? '').slice(0, 256));
    if (!request) return respondJson(c, 200, { traceId, spans: [...spans] } satisfies TraceAnswer);
    const { model, totalMs, parts, verdict } = request;
    const told = { ...verdict, unusual: [...verdict.unusual], text: verdictText(verdict) };
    return respondJson(c, 200, {
      ...{ traceId, spans: [...spans] },
      request: { model, totalMs, parts, verdict: told },
    } satisfies TraceAnswer);
  };
}

function wrongQuery(error: z.ZodError): Failure {
  const [issue] = error.issues;
  return new Failure(
    'invalid_params',
    issue ? `${issue.path.join('.')}: ${issue.message}`.slice(0, 200) : 'not readable',
  );
}
