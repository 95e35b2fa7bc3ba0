import type { Grant, Limits, Permission } from '../../contracts/grant.js';

/** Who asks: what may be done, on whose account, and whose cached answers may be given. */
export interface Principal {
  readonly tenant: string;
  readonly tier: string;
  readonly permissions: readonly Permission[];
  /** Names of the models that may be asked; undefined for all. */
  readonly models?: readonly string[] | undefined;
  /** Cached answers are shared within a scope and never across. */
  readonly scope: string;
  /** Whose spending is counted together: a key's, or a token's subject's. Undefined where nothing is limited. */
  readonly account?: string | undefined;
  /** Where they differ from the tier's. */
  readonly limits?: Limits | undefined;
}

const nobody: Principal = Object.freeze({
  tenant: 'anonymous',
  tier: 'free',
  permissions: Object.freeze<Permission[]>(['predict', 'tasks', 'ops']),
  scope: 'shared',
});

/** Takes everybody for the same stranger, who may do everything: what a newcomer finds on loopback. */
export function anonymous(): Principal {
  return nobody;
}

/** A grant's holder. Cached answers stay within the tenant unless the grant names a scope to share. */
export function principalOf(grant: Grant, account: string): Principal {
  const { tenant, tier, permissions, models, limits } = grant;
  const scope = grant.scope === undefined ? tenant : `~${grant.scope}`;
  return { tenant, tier, permissions, models, scope, account, limits };
}
