import { Failure } from '../../contracts/failure.js';
import type { Permission } from '../../contracts/grant.js';
import type { Principal } from './principal.js';

/** Whether a caller may do what it asks for. @throws Failure permission_missing */
export function permit({ permissions }: Principal, needed: Permission): void {
  if (permissions.includes(needed)) return;
  throw new Failure(
    'permission_missing',
    `this needs the permission "${needed}", the credentials have ${list(permissions)}`,
  );
}

/**
 * Whether a caller may ask a model; asked before it is looked up, so that nobody learns of other models.
 * @throws Failure model_not_allowed
 */
export function permitModel(principal: Principal, name: string): void {
  if (mayAsk(principal, name)) return;
  throw new Failure('model_not_allowed', `the credentials are for ${list(principal.models ?? [])}`);
}

/** Whether a caller may ask a model, and learn of it. Whoever is not known yet learns of all. */
export function mayAsk(principal: Principal | undefined, name: string): boolean {
  return principal?.models?.includes(name) ?? true;
}

function list(names: readonly string[]): string {
  return names.map((name) => `"${name}"`).join(', ');
}
