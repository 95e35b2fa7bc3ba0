import type { Permission } from '../../contracts/grant.js';
import { permit, permitModel } from '../access/authorise.js';
import type { Principal } from '../access/principal.js';
import type { EdgeDeps } from '../deps.js';
import type { EdgeContext } from '../request.js';

/** Who asks; noted for the log. @throws Failure of the kinds credentials_… */
export async function identify(deps: EdgeDeps, c: EdgeContext): Promise<Principal> {
  const principal = await deps.authenticate(c);
  c.get('request').principal = principal;
  return principal;
}

/**
 * Who asks a model about one picture, once it is allowed and paid for.
 * @throws Failure of the kinds credentials_…; permission_missing | model_not_allowed; rate_limited | quota_exhausted |
 * too_many_at_once
 */
export async function identifyCaller(deps: EdgeDeps, c: EdgeContext, needed: Permission): Promise<Principal> {
  const principal = await identify(deps, c);
  permit(principal, needed);
  permitModel(principal, c.req.param('model') ?? '');
  if (principal.account !== undefined) c.get('request').paid = await deps.limiter.pay(principal, 1);
  return principal;
}
