import type { EdgeDeps } from '../deps.js';
import type { Live, ReadyAnswer } from '../openapi/service-schemas.js';
import type { Handle } from '../request.js';
import { respondJson } from '../respond.js';

/** `GET /healthz`: this process answers; only when it does not can a restart help. */
export function live(): Handle {
  return (c) => respondJson(c, 200, { status: 'live' } satisfies Live);
}

/** `GET /readyz`: whether requests may be sent here now, and if not, why. */
export function ready(deps: EdgeDeps): Handle {
  return async (c) => {
    const { ready: isReady, reasons } = await deps.ready();
    const body: ReadyAnswer = { status: isReady ? 'ready' : 'not ready', reasons: [...reasons] };
    return respondJson(c, isReady ? 200 : 503, body);
  };
}
