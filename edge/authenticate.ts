/** Who asks: what may be done, on whose account, and whose cached answers may be given. */
export interface Principal {
  readonly tenant: string;
  readonly tier: string;
  readonly scopes: readonly string[];
  /** Cached answers are shared within a scope and never across. */
  readonly scope: string;
}

const nobody: Principal = Object.freeze({
  tenant: 'anonymous',
  tier: 'free',
  scopes: Object.freeze(['predict']),
  scope: 'shared',
});

/** Takes everybody for the same stranger. */
export function anonymous(): Principal {
  return nobody;
}
