import type { Principal } from '../authenticate.js';
import type { EdgeDeps } from '../deps.js';
import type { EdgeContext } from '../request.js';

/** Who asks; noted for the log. */
export async function identify(deps: EdgeDeps, c: EdgeContext): Promise<Principal> {
  const principal = await deps.authenticate(c);
  c.get('request').tenant = principal.tenant;
  return principal;
}
