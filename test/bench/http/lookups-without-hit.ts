import { scrape } from '../../exposition.js';
import type { Part } from '../surroundings.js';

/** Counts an edge's cache lookups that were no hit, by its own metrics: each call, those since the last one. */
export async function lookupsWithoutHit(edge: Part): Promise<() => Promise<number>> {
  const url = edge.ready['metrics'];
  if (typeof url !== 'string') throw new Error('the edge does not say where its metrics are');
  let before = await countOthers(url);
  return async () => {
    const now = await countOthers(url);
    const since = now - before;
    before = now;
    return since;
  };
}

async function countOthers(url: string): Promise<number> {
  const lookups = (await scrape(url)).find('cache_lookups_total');
  return lookups.filter(({ labels }) => labels['found'] !== 'hit').reduce((sum, { value }) => sum + value, 0);
}
