import { Failure } from '../../contracts/failure.js';
import type { EdgeContext } from '../request.js';
import { credentialsOf } from './credentials.js';
import type { KeyAuthority } from './key-authority.js';
import type { Principal } from './principal.js';
import type { TokenAuthority } from './token-authority.js';

/** Says who sends a request. @throws Failure of the kinds credentials_… */
export type Authenticate = (c: EdgeContext) => Promise<Principal>;

/** @param tokens undefined where no tokens are taken */
export function createAuthenticate(keys: KeyAuthority, tokens: TokenAuthority | undefined): Authenticate {
  return async (c) => {
    const presented = credentialsOf({
      authorization: c.req.header('authorization'),
      xApiKey: c.req.header('x-api-key'),
      url: c.req.url,
    });
    if (presented.kind === 'key') return keys(presented.key);
    if (tokens) return tokens(presented.token);
    throw new Failure('credentials_invalid', 'no tokens are taken here, only keys');
  };
}
