import { createMemoryGate, type MemoryGateSettings, type MemoryLevel } from './memory-gate.js';
import type { MemorySource } from './memory-source.js';

export interface MemoryWatchOptions {
  readonly source: MemorySource;
  readonly gate?: MemoryGateSettings;
  /** Tasks held now. */
  readonly held: () => number;
  /** The clock of the source's readings. */
  readonly now: () => number;
  /** Called once, when the process cannot get back under: it is to be drained and replaced. */
  readonly onReplace: () => void;
  readonly everyMs?: number;
}

/** What is known of the memory that is watched. */
export interface WatchedMemory {
  /** The source's name. */
  readonly source: string;
  readonly level: MemoryLevel;
}

export interface MemoryWatch extends WatchedMemory {
  /** Whether nothing new may be read. */
  readonly paused: boolean;
  /** Is called whenever the state has changed. */
  onChange(callback: (level: MemoryLevel) => void): void;
  /** Stops looking, and the source with it. */
  stop(): void;
}

/**
 * Looks at the memory once a second. To be started when everything is loaded and warmed up: the first reading made
 * from then on is the level that later ones are measured against.
 * @throws RangeError where the gate's settings contradict each other
 */
export function startMemoryWatch(options: MemoryWatchOptions): MemoryWatch {
  const { source, held, now, onReplace, everyMs = 1000 } = options;
  const gate = createMemoryGate(options.gate);
  const startedAt = now();
  const callbacks: ((level: MemoryLevel) => void)[] = [];
  let warmedUp = false;
  let replaced = false;
  const judge = (): MemoryLevel => {
    const reading = source.read();
    if (!warmedUp && 'at' in reading && reading.at >= startedAt) {
      gate.warmedUp(reading);
      warmedUp = true;
    }
    return gate.take(reading, held(), now());
  };
  let level = judge();
  const look = () => {
    const before = level.state;
    level = judge();
    if (level.state !== before) for (const callback of callbacks) callback(level);
    if (level.state !== 'stuck' || replaced) return;
    replaced = true;
    onReplace();
  };
  const timer = setInterval(look, everyMs);
  return {
    source: source.name,
    get level() {
      return level;
    },
    get paused() {
      return level.state === 'paused' || level.state === 'stuck';
    },
    onChange: (callback) => {
      callbacks.push(callback);
    },
    stop: () => {
      clearInterval(timer);
      source.stop();
    },
  };
}
