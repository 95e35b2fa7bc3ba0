/** A gate in front of a simulated device: tests hold it shut to keep a run in flight for as long as they like. */
export interface Latch {
  /** Shuts the gate: runs that come from now on wait. */
  hold(): void;
  /** Opens the gate and lets every waiting run go on. */
  release(): void;
  /** Resolves once `count` runs (1 by default) wait at the gate. */
  arrived(count?: number): Promise<void>;
  /** What a run calls: resolves at once while the gate is open, else on release. */
  pass(): Promise<void>;
  readonly held: boolean;
  /** Runs that wait at the gate now. */
  readonly waiting: number;
}

/** A latch, open unless told otherwise. */
export function createLatch(options: { held?: boolean } = {}): Latch {
  let held = options.held ?? false;
  let atGate: (() => void)[] = [];
  let watchers: { count: number; resolve: () => void }[] = [];

  const tellWatchers = (): void => {
    const told = watchers.filter((watcher) => atGate.length >= watcher.count);
    watchers = watchers.filter((watcher) => atGate.length < watcher.count);
    for (const watcher of told) watcher.resolve();
  };

  return {
    hold: () => {
      held = true;
    },
    release: () => {
      held = false;
      const going = atGate;
      atGate = [];
      for (const go of going) go();
    },
    arrived: (count = 1) =>
      new Promise((resolve) => {
        watchers.push({ count, resolve });
        tellWatchers();
      }),
    pass: () => {
      if (!held) return Promise.resolve();
      return new Promise((resolve) => {
        atGate.push(resolve);
        tellWatchers();
      });
    },
    get held() {
      return held;
    },
    get waiting() {
      return atGate.length;
    },
  };
}
