import type { Exposition } from '../../exposition.js';

/** What a backend's metrics say that its device did, between two scrapes. */
export interface DeviceAccount {
  /** Seconds in which a batch ran. */
  readonly seconds: number;
  readonly batches: number;
  readonly images: number;
  /** Seconds from the beginning of an image's decoding to its end, its wait for a free thread included; on average. */
  readonly decodeSeconds: number;
  /** How many batches had at most so many images and more than the bound before; only bounds that have some. */
  readonly sizes: readonly { readonly atMost: number; readonly batches: number }[];
}

/** @param model whose; a process may serve several */
export function accountBetween(before: Exposition, after: Exposition, model: string): DeviceAccount {
  const grown = (name: string) => sumOf(after, name, model) - sumOf(before, name, model);
  const upTo = new Map<number, number>();
  for (const [exposition, sign] of [
    [after, 1],
    [before, -1],
  ] as const) {
    for (const { labels, value } of exposition.find('batch_size_bucket', { model })) {
      const bound = labels['le'] === '+Inf' ? Infinity : Number(labels['le']);
      upTo.set(bound, (upTo.get(bound) ?? 0) + sign * value);
    }
  }
  const bounds = [...upTo].sort(([one], [other]) => one - other);
  const sizes = bounds.map(([atMost, count], i) => ({ atMost, batches: count - (bounds[i - 1]?.[1] ?? 0) }));
  return {
    ...{ seconds: grown('infer_seconds_sum'), batches: grown('batch_size_count'), images: grown('batch_size_sum') },
    decodeSeconds: grown('decode_seconds_sum') / grown('decode_seconds_count'),
    sizes: sizes.filter(({ batches }) => batches > 0),
  };
}

/** Over all other labels, such as why batches were closed. */
function sumOf(exposition: Exposition, name: string, model: string): number {
  return exposition.find(name, { model }).reduce((sum, { value }) => sum + value, 0);
}
