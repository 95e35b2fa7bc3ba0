import { parseApiKey, type PresentedKey } from '../../contracts/api-key.js';
import { Failure } from '../../contracts/failure.js';

/** What a request shows of who sends it. */
export type Credentials =
  { readonly kind: 'key'; readonly key: PresentedKey } | { readonly kind: 'token'; readonly token: string };

/** What of a request is looked at. */
export interface Presented {
  readonly authorization: string | undefined;
  readonly xApiKey: string | undefined;
  readonly url: string;
}

const bearer = /^Bearer +([^\s]{1,8192})$/i;
const compactToken = /^[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+\.[A-Za-z0-9_-]*$/;
/** Names under which other services read keys out of a URL. */
const inQuery = /[?&](api[-_]?key|key|access_token|token)=/i;

/**
 * The one key or token of a request, from `Authorization: Bearer` or `x-api-key`.
 * @throws Failure credentials_missing | credentials_invalid
 */
export function credentialsOf({ authorization, xApiKey, url }: Presented): Credentials {
  if (authorization !== undefined && xApiKey !== undefined) {
    throw new Failure('credentials_invalid', 'send either authorization or x-api-key, not both');
  }
  const text = xApiKey ?? (authorization === undefined ? undefined : bearerOf(authorization));
  if (text === undefined) throw new Failure('credentials_missing', missing(url));
  const key = parseApiKey(text);
  if (key) return { kind: 'key', key };
  if (xApiKey === undefined && compactToken.test(text)) return { kind: 'token', token: text };
  throw new Failure('credentials_invalid', 'this is neither a key nor a token');
}

function bearerOf(header: string): string {
  const [, text] = bearer.exec(header) ?? [];
  if (text === undefined)
    throw new Failure('credentials_invalid', 'authorization must be "Bearer " and a key or token');
  return text;
}

function missing(url: string): string {
  if (!inQuery.test(url)) return 'send a key as "Authorization: Bearer <key>" or "x-api-key: <key>"';
  return 'a key is never read out of a URL, where logs would keep it; send it as a header, and replace this one';
}
