import type { Handle } from '../request.js';
import { respond, type Headers } from '../respond.js';
import { matches } from './lookup.js';

/** `GET /openapi.json`: what can be asked here, for programs. */
export function showDocument(): Handle {
  return async (c) => {
    const { text, etag } = await load();
    const headers: Headers = { etag, 'cache-control': 'no-cache' };
    if (matches(c.req.header('if-none-match'), etag)) return respond(c, 304, null, headers);
    headers['content-type'] = 'application/json';
    return respond(c, 200, text, headers);
  };
}

/** `GET /docs`: the same for people, with examples that name this very edge. */
export function showPage(): Handle {
  return async (c) => {
    const { page, styleHash } = await load();
    return respond(c, 200, page.replaceAll('$BASE', baseOf(c.req.url)), {
      'content-type': 'text/html; charset=utf-8',
      'cache-control': 'no-store',
      'content-security-policy': `default-src 'none'; style-src 'sha256-${styleHash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
    });
  };
}

/** Schemas and texts are of no use to requests, so they are loaded with the first that wants them. */
async function load() {
  const { described } = await import('../openapi/described.js');
  return described();
}

const plainOrigin = /^https?:\/\/([A-Za-z0-9.-]+|\[[0-9a-f:.]+\])(:\d{1,5})?$/;

/** Where the request was sent; a caller that makes up a host gets an address without anything to escape, too. */
function baseOf(url: string): string {
  const { origin } = new URL(url);
  return plainOrigin.test(origin) ? origin : 'http://127.0.0.1:8787';
}
