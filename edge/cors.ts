import type { EdgeContext, Handle } from './request.js';

const exposed = [
  ...['x-request-id', 'traceresponse', 'x-cache', 'server-timing', 'etag', 'location', 'retry-after'],
  ...['ratelimit', 'ratelimit-policy', 'preference-applied', 'link'],
].join(', ');

const allowed = [
  ...['authorization', 'x-api-key', 'content-type', 'accept', 'prefer', 'idempotency-key', 'x-timeout-ms'],
  ...['x-request-id', 'traceparent', 'if-none-match'],
].join(', ');

/** A preflight's answer holds for two hours: the longest that any browser believes. */
const maxAgeSeconds = 7200;

/** Pages of other origins may fetch what is served here, and see an answer only where it names them. */
const forNobody = { 'cross-origin-resource-policy': 'cross-origin' };
const forAll = {
  ...forNobody,
  'access-control-allow-origin': '*',
  'access-control-expose-headers': exposed,
};

/**
 * Lets scripts of other origins read the answers of a handler, its problems too. Credentials are never allowed: keys and
 * tokens travel in headers that scripts set themselves.
 * @param origins as browsers write them, or `*` alone; where there are none the handler stays as it is
 */
export function withCors(origins: readonly string[], handle: Handle): Handle {
  if (origins.length === 0) return handle;
  const listed = new Set(origins);
  const isForAll = listed.has('*');
  return (c) => {
    c.get('request').cors = isForAll ? forAll : forOrigin(listed, c.req.header('origin'));
    return handle(c);
  };
}

function forOrigin(listed: ReadonlySet<string>, origin: string | undefined): Readonly<Record<string, string>> {
  if (origin === undefined || !listed.has(origin)) return { ...forNobody, vary: 'origin' };
  return { ...forAll, 'access-control-allow-origin': origin, vary: 'origin' };
}

/**
 * What a preflight is told beside that: whether a script's request may be sent. Nothing where none is asked for.
 * @param methods of the path
 */
export function preflightHeaders(c: EdgeContext, methods: string): Readonly<Record<string, string>> {
  const isPreflight = c.req.header('access-control-request-method') !== undefined;
  if (!isPreflight || c.req.header('origin') === undefined) return {};
  if (c.get('request').cors?.['access-control-allow-origin'] === undefined) return {};
  return {
    'access-control-allow-methods': methods,
    'access-control-allow-headers': allowed,
    'access-control-max-age': String(maxAgeSeconds),
  };
}
