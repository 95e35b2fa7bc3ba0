/**
 * What a consumer can do of one model, in tasks per second: not what it happens to be asked for. While there is always
 * more to read than there is room for, what it does is what it can do; in between, the last such figure stands.
 */
export interface Capacity {
  readonly perSecond: number;
  /**
   * Notes, about once a second, how far the work has come.
   * @param total tasks that were run since the start
   * @param saturated whether the stream had more, all the time since the last sample
   * @param now milliseconds
   */
  sample(total: number, saturated: boolean, now: number): void;
}

interface Sample {
  readonly total: number;
  readonly at: number;
}

/** Samples over which the rate is averaged, and the fewest that say something: batches come in lumps. */
const mostSamples = 11;
const fewestSamples = 4;
/** Nobody needs to know more exactly how much faster than this it goes. */
const mostPerSecond = 1_000_000;

/** @param rated tasks per second that the device did when it was warmed up; 0 where that is not known */
export function createCapacity(rated: number): Capacity {
  let perSecond = Math.min(rated, mostPerSecond);
  let recent: Sample[] = [];
  let saturatedFor = 0;
  return {
    get perSecond() {
      return perSecond;
    },
    sample: (total, saturated, now) => {
      recent = [...recent, { total, at: now }].slice(-mostSamples);
      saturatedFor = saturated ? saturatedFor + 1 : 0;
      const spans = Math.min(saturatedFor, recent.length - 1);
      if (spans + 1 >= fewestSamples) perSecond = rateOf(recent.slice(-spans - 1));
      // Even where the stream ran dry now and then, it can do what it did.
      else if (recent.length >= fewestSamples) perSecond = Math.max(perSecond, rateOf(recent));
    },
  };
}

function rateOf(samples: readonly Sample[]): number {
  const [first, last] = [samples[0], samples.at(-1)];
  const seconds = first && last ? (last.at - first.at) / 1000 : 0;
  return first && last && seconds > 0 ? Math.min(mostPerSecond, (last.total - first.total) / seconds) : 0;
}
