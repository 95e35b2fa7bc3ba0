import type { Handler } from 'hono';
import type { EdgeDeps } from '../deps.js';
import type { EdgeEnv } from '../request.js';
import { respondJson } from '../respond.js';

/** `GET /healthz`: this process answers; only when it does not can a restart help. */
export function live(): Handler<EdgeEnv> {
  return (c) => respondJson(c, 200, { status: 'live' });
}

/** `GET /readyz`: whether requests may be sent here now, and if not, why. */
export function ready(deps: EdgeDeps): Handler<EdgeEnv> {
  return async (c) => {
    const { ready: isReady, reasons } = await deps.ready();
    return respondJson(c, isReady ? 200 : 503, { status: isReady ? 'ready' : 'not ready', reasons });
  };
}
