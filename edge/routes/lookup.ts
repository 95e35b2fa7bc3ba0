import { Failure } from '../../contracts/failure.js';
import { canonicalParams, parseParams } from '../../contracts/params.js';
import { md5Schema, sha256Schema, workKey } from '../../contracts/task.js';
import type { EdgeConfig } from '../config.js';
import type { EdgeDeps, HostClock } from '../deps.js';
import { entityTag } from '../digest.js';
import { findModel } from '../models.js';
import { queryOf, type Given } from '../query.js';
import type { Handle } from '../request.js';
import { respond, type Headers } from '../respond.js';
import { identifyCaller } from './identify.js';
import { startStopwatch } from './stopwatch.js';

/** `GET /v1/models/:model/results/:md5`: the answer that is kept for an image, without sending the image. */
export function lookup(deps: EdgeDeps): Handle {
  return async (c) => {
    const request = c.get('request');
    const { scope } = await identifyCaller(deps, c, 'predict');
    const manifest = await findModel(deps.models, c.req.param('model') ?? '');
    const { name, version } = manifest;
    request.model = name;
    const query = queryOf(c.req.url);
    const { md5, sha256 } = checkedDigests(deps.config, c.req.param('md5'), query.get('sha256'));
    const params = canonicalParams(parseParams(manifest, paramsIn(query)));
    const watch = startStopwatch(deps.clock);
    const found = await deps.cache.find(workKey({ scope, model: name, version, md5 }, params), sha256, name);
    watch.lap('cache');
    request.cache = found ? 'hit' : 'miss';
    if (!found) throw new Failure('result_not_found', 'it was not asked for, has expired, or had other parameters');
    const { answer, expiresAt } = found;
    const etag = entityTag(answer);
    const headers: Headers = {
      etag,
      'x-cache': 'hit',
      'cache-control': cacheControl(expiresAt, deps.clock),
      'server-timing': watch.serverTiming(),
    };
    if (matches(c.req.header('if-none-match'), etag)) return respond(c, 304, null, headers);
    headers['content-type'] = 'application/json';
    return respond(c, 200, answer, headers);
  };
}

/** For the caller alone, and for as long as it is kept here. Clocks of hosts may disagree, by minutes of a day. */
function cacheControl(expiresAt: number, clock: HostClock): string {
  return `private, max-age=${String(Math.max(0, Math.floor(expiresAt - clock.sinceEpoch() / 1000)))}`;
}

const noParams = {};

/** What stands in the query beside the digest. */
function paramsIn(query: Given): Readonly<Record<string, unknown>> {
  if (query.size <= (query.has('sha256') ? 1 : 0)) return noParams;
  return Object.fromEntries([...query].filter(([name]) => name !== 'sha256'));
}

function checkedDigests(config: EdgeConfig, md5: unknown, sha256: unknown) {
  const parsedMd5 = md5Schema.safeParse(md5);
  if (!parsedMd5.success) throw new Failure('invalid_digest', 'the path must end in 32 lower-case hexadecimal digits');
  if (sha256 === undefined) {
    if (config.lookupMd5Only) return { md5: parsedMd5.data, sha256: undefined };
    throw new Failure('sha256_required', 'files of equal MD5 can be made on purpose; add ?sha256=<64 digits>');
  }
  const parsedSha256 = sha256Schema.safeParse(sha256);
  if (!parsedSha256.success) throw new Failure('invalid_digest', 'sha256 must be 64 lower-case hexadecimal digits');
  return { md5: parsedMd5.data, sha256: parsedSha256.data };
}

/** If-None-Match, with the weak comparison that RFC 9110, 13.1.2 asks for. */
export function matches(header: string | undefined, etag: string): boolean {
  if (header === undefined) return false;
  const opaque = (tag: string) => tag.trim().replace(/^W\//, '');
  return header.split(',').some((tag) => tag.trim() === '*' || opaque(tag) === opaque(etag));
}
