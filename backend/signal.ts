/** Wakes a loop that waits for something to do; what happens within one turn of the event loop wakes it once. */
export interface Signal {
  notify(): void;
  /** Resolves at the next notification, at once if one came since the last wait, or after `ms`. */
  wait(ms?: number): Promise<void>;
}

export function createSignal(): Signal {
  let notified = false;
  let wake: (() => void) | undefined;
  let scheduled: NodeJS.Immediate | undefined;
  const fire = () => {
    scheduled = undefined;
    if (!wake) return;
    notified = false;
    wake();
  };
  return {
    notify: () => {
      notified = true;
      scheduled ??= setImmediate(fire);
    },
    wait: (ms) =>
      new Promise((resolve) => {
        const timer = ms === undefined ? undefined : setTimeout(() => wake?.(), ms);
        wake = () => {
          wake = undefined;
          clearTimeout(timer);
          resolve();
        };
        if (notified) scheduled ??= setImmediate(fire);
      }),
  };
}
