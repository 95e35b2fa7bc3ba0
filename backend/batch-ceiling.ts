/** How many images a device takes at a time at present: less than its limit once its memory was short. */
export interface BatchCeiling {
  readonly now: number;
  /** Memory was short for more than this many. */
  lower(fits: number): void;
  /** A batch of this size ran; after enough full ones a little more is tried. */
  ran(size: number): void;
}

/** Full batches that must run well before the ceiling is raised by an eighth of the limit. */
const raiseAfter = 16;

export function createBatchCeiling(limit: number): BatchCeiling {
  let ceiling = limit;
  let fullRuns = 0;
  return {
    get now() {
      return ceiling;
    },
    lower: (fits) => {
      ceiling = Math.max(1, Math.min(ceiling, fits));
      fullRuns = 0;
    },
    ran: (size) => {
      if (ceiling === limit || size < ceiling) return;
      fullRuns += 1;
      if (fullRuns < raiseAfter) return;
      ceiling = Math.min(limit, ceiling + Math.max(1, Math.floor(limit / 8)));
      fullRuns = 0;
    },
  };
}
