import type { Logger } from 'pino';
import { staleAfterMs, type MemoryReading, type MemorySource } from './memory-source.js';
import { readSmiLine } from './nvidia-smi-line.js';
import { runNvidiaSmi, type SmiRun } from './nvidia-smi-run.js';

export interface NvidiaSmiOptions {
  readonly command?: string;
  /** What `-i` takes: an index, a UUID or a bus address. */
  readonly device: string;
  readonly log: Logger;
  /** Any clock that only goes forward, in ms. */
  readonly now: () => number;
  readonly random: () => number;
  /** Milliseconds without a word after which the tool is started anew. */
  readonly silentMs?: number;
}

const firstWaitMs = 1000;
const longestWaitMs = 30_000;
const logEveryMs = 1000;

/**
 * Memory of a GPU, as one long-running nvidia-smi tells it; started again whenever it ends. Where it cannot tell (it is
 * missing, sees no device, a container hides the figures), the reason is what is read.
 */
export function openNvidiaSmi(options: NvidiaSmiOptions): MemorySource {
  const { command = 'nvidia-smi', device, now, random, silentMs = 30_000 } = options;
  const tell = createTeller(options);
  let reading: MemoryReading | undefined;
  let reason = 'nvidia-smi has not said anything yet';
  let waitMs = firstWaitMs;
  let run: SmiRun | undefined;
  let restart: NodeJS.Timeout | undefined;
  let stopped = false;

  const doubt = (why: string) => {
    reason = why;
    tell(why);
  };
  /** @returns whether the line was a complaint */
  const hear = (text: string): boolean => {
    const line = readSmiLine(text);
    if (line.kind === 'figures') {
      reading = { usedBytes: line.usedBytes, limitBytes: line.limitBytes, at: now() };
      reason = 'nvidia-smi has fallen silent';
      waitMs = firstWaitMs;
      tell(undefined);
      return false;
    }
    if (line.kind === 'hidden') reading = undefined;
    doubt(line.kind === 'hidden' ? `nvidia-smi hides the memory of device ${device}: ${line.why}` : said(line.words));
    return true;
  };
  const start = () => {
    let complained = false;
    run = runNvidiaSmi({ command, device, silentMs, onLine: (line) => (complained = hear(line)) });
    void run.ended.then((why) => {
      if (stopped) return;
      // Its last words say more than its status.
      if (!complained) doubt(why);
      restart = setTimeout(start, waitMs * (0.5 + 0.5 * random()));
      waitMs = Math.min(longestWaitMs, waitMs * 2);
    });
  };
  start();
  return {
    name: 'nvidia-smi',
    read: () => (reading && now() - reading.at <= staleAfterMs ? reading : { reason }),
    stop: () => {
      stopped = true;
      clearTimeout(restart);
      run?.end();
    },
  };
}

const said = (words: string): string => `nvidia-smi says: ${words}`;

/** Logs each reason once, its end once, and at most one line a second. */
function createTeller({ device, log, now }: NvidiaSmiOptions): (reason: string | undefined) => void {
  let told: string | undefined;
  let toldAt = -Infinity;
  return (reason) => {
    if (reason === told || now() - toldAt < logEveryMs) return;
    if (reason === undefined) log.info({ device }, "the device's memory can be read again");
    else log.warn({ device, reason }, "the device's memory cannot be read");
    told = reason;
    toldAt = now();
  };
}
