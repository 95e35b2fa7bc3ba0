import { availableParallelism } from 'node:os';
import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { withSurroundings } from '../surroundings.js';
import type { LoopSettings } from '../whole-path/loop-orders.js';
import { startLoop } from '../whole-path/start-loop.js';

/** The provider that is measured, and what it did alone, with the reasons why others were not taken. */
export interface Picked {
  readonly device: LoopSettings['device'];
  readonly perSecond: number;
  readonly tried: readonly string[];
}

/** In the order in which they are tried; the one that infers fastest is taken, since a GPU may be a software one. */
const providers = ['cuda', 'webgpu', 'cpu'] as const;

/** A provider that has not inferred anything within this time, in ms, counts as not there. */
const trialMs = 60_000;

/** What the environment says about the device. */
export const deviceSettingsSchema = z.object({
  SAMPAN_DEVICE: z.enum(providers).optional(),
  SAMPAN_DEVICE_INDEX: z.coerce.number().int().min(0).default(0),
  SAMPAN_THREADS: z.coerce.number().int().min(1).default(availableParallelism()),
});

/**
 * Tries the provider that was asked for, else all there are, each in a process of its own.
 * @throws Error with every reason, when none of them opens
 */
export async function pickDevice(
  settings: Omit<LoopSettings, 'device'>,
  wanted: LoopSettings['device'] | undefined,
  env: Readonly<Record<string, string>>,
  say: (what: string) => void,
): Promise<Picked> {
  const opened: { device: LoopSettings['device']; perSecond: number }[] = [];
  const tried: string[] = [];
  for (const device of wanted === undefined ? providers : [wanted]) {
    say(`trying ${device}`);
    try {
      const perSecond = await inferenceRate({ ...settings, device }, env);
      opened.push({ device, perSecond });
      tried.push(`${device}: inference alone ${perSecond.toFixed(0)} images/s`);
    } catch (error) {
      tried.push(`${device}: not there (${lastLine(error)})`);
    }
  }
  const [fastest] = opened.sort((one, other) => other.perSecond - one.perSecond);
  if (!fastest) throw new Error(`no provider opens: ${tried.join('; ')}`);
  return { ...fastest, tried };
}

async function inferenceRate(settings: LoopSettings, env: Readonly<Record<string, string>>): Promise<number> {
  return withSurroundings(async (here) => {
    const rate = async () => {
      const loop = await startLoop(here, settings, env);
      const first = await loop.run({ what: 'infer', images: 32 });
      // About a second, whatever the device.
      const { images, seconds } = await loop.run({ what: 'infer', images: Math.ceil(32 / first.seconds) });
      return images / seconds;
    };
    const tooLate = new AbortController();
    const late = sleep(trialMs, undefined, { signal: tooLate.signal }).then(() => {
      throw new Error(`nothing came within ${String(trialMs / 1000)} s`);
    });
    try {
      return await Promise.race([rate(), late]);
    } finally {
      tooLate.abort();
      late.catch(() => undefined);
    }
  });
}

const lastLine = (error: unknown): string =>
  (error instanceof Error ? error.message : String(error)).trim().split('\n').at(-1)?.slice(0, 200) ?? '';
