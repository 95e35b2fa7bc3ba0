/**
 * What a consumer can do of one model, in images per second: not what it happens to be asked for. While there is always
 * more to read than there is room for, what it does is what it can do; in between, the last such figure stands.
 */
export interface Capacity {
  readonly perSecond: number;
  /**
   * Notes, about once a second, how far the work has come.
   * @param total images that were run since the start
   * @param saturated whether the stream had more, all the time since the last call
   * @param now milliseconds, monotonic
   */
  sample(total: number, saturated: boolean, now: number): void;
}

interface Sample {
  readonly total: number;
  readonly at: number;
}

/** Milliseconds over which the rate is averaged, at most and at least: batches come in lumps. */
const longestSpanMs = 10_000;
const shortestSpanMs = 3000;
/** Nobody needs to know more exactly how much faster than this it goes. */
const mostPerSecond = 1_000_000;

/** @param rated images per second that the device did when it was warmed up; 0 where that is not known */
export function createCapacity(rated: number): Capacity {
  let perSecond = Math.min(rated, mostPerSecond);
  // Only of moments when a run had ended: however long one takes, spans reach from end to end.
  let samples: Sample[] = [];
  let stretchFrom = 0;
  let ranDry = true;
  return {
    get perSecond() {
      return perSecond;
    },
    sample: (total, saturated, now) => {
      ranDry ||= !saturated;
      if (samples.at(-1)?.total === total) return;
      if (ranDry) stretchFrom = samples.length;
      ranDry = false;
      samples.push({ total, at: now });
      while (samples.length > 2 && now - (samples[1]?.at ?? now) >= longestSpanMs) {
        samples = samples.slice(1);
        stretchFrom = Math.max(0, stretchFrom - 1);
      }
      // Even where the stream ran dry now and then, the consumer can do what it did.
      perSecond = rateOf(samples.slice(stretchFrom)) ?? Math.max(perSecond, rateOf(samples) ?? 0);
    },
  };
}

/** Undefined where the samples span too little to say. */
function rateOf(samples: readonly Sample[]): number | undefined {
  const [first, last] = [samples[0], samples.at(-1)];
  if (!first || !last || last.at - first.at < shortestSpanMs) return undefined;
  return Math.min(mostPerSecond, ((last.total - first.total) * 1000) / (last.at - first.at));
}
