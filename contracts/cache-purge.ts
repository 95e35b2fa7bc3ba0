import type { Redis } from 'ioredis';
import { cacheKey } from './keys.js';

/** Which cached answers are meant; what is left out is any. */
export interface CachedWhich {
  readonly model?: string | undefined;
  readonly version?: string | undefined;
  readonly md5?: string | undefined;
  readonly scope?: string | undefined;
}

/** Keys that are looked at in one step, so that others are not kept waiting. */
const stepKeys = 1000;

/** Removes cached answers, step by step while others go on; answers how many there were. */
export async function purgeCached(cache: Redis, which: CachedWhich): Promise<number> {
  const prefix = cacheKey('');
  const { scope = '*', model = '*', version = '*', md5 = '*' } = which;
  const pattern = cacheKey(`${scope}:${model}:${version}:*:${md5}`);
  let removed = 0;
  let cursor = '0';
  do {
    const [next, keys] = await cache.scan(cursor, 'MATCH', pattern, 'COUNT', stepKeys);
    // The pattern lets one part of a key stretch over others.
    const meant = keys.filter((key) => isMeant(key.slice(prefix.length), which));
    if (meant.length > 0) removed += await cache.unlink(...meant);
    cursor = next;
  } while (cursor !== '0');
  return removed;
}

function isMeant(work: string, which: CachedWhich): boolean {
  const [scope, model, version, , md5] = work.split(':');
  const agrees = (wanted: string | undefined, found: string | undefined) => wanted === undefined || wanted === found;
  return (
    agrees(which.scope, scope) && agrees(which.model, model) && agrees(which.version, version) && agrees(which.md5, md5)
  );
}
