import { Failure } from '../contracts/failure.js';
import { preflightHeaders } from './cors.js';
import type { EdgeDeps } from './deps.js';
import { problem } from './problem.js';
import type { Handle } from './request.js';
import { respond } from './respond.js';

export type Handles = Readonly<Partial<Record<'GET' | 'POST' | 'DELETE', Handle>>>;

const order = ['GET', 'HEAD', 'POST', 'DELETE', 'OPTIONS'] as const;

/** One handler for all methods of a path: HEAD goes with GET, OPTIONS is answered to everybody, others are refused. */
export function byMethod(deps: EdgeDeps, handles: Handles): Handle {
  const { GET: get } = handles;
  const own = { ...handles, ...(get ? { HEAD: headOf(get) } : {}) };
  const allow = order.filter((method) => method === 'OPTIONS' || method in own).join(', ');
  const options: Handle = (c) => respond(c, 204, null, { allow, ...preflightHeaders(c, allow) });
  const byName = new Map<string, Handle>(Object.entries({ ...own, OPTIONS: options }));
  return (c) => {
    const handle = byName.get(c.req.method);
    if (handle) return handle(c);
    const failure = new Failure('method_not_allowed', `${c.req.method} is not allowed here, only ${allow}`);
    return problem(deps, c, failure, { allow });
  };
}

/** What GET would answer, without its body: what is written piece by piece is given up before its first. */
function headOf(get: Handle): Handle {
  return async (c) => {
    const answer = await get(c);
    await answer.body?.cancel();
    return new Response(null, { status: answer.status, headers: answer.headers });
  };
}
