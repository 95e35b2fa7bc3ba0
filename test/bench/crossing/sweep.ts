import { resultWays } from './bullmq-job.js';
import type { SideWithWorker } from './sides.js';
import { imageBytes } from './turn.js';

/** How BullMQ is set: how many jobs its worker works on at a time, and how its caller gets results. */
export interface BullmqSetting {
  readonly concurrency: number;
  readonly results: string;
}

export interface Tried extends BullmqSetting {
  readonly tasksPerSecond: number;
}

const concurrencies = [1, 8, 32, 64, 128, 256];

/**
 * Tries every setting in short stretches, there and back again.
 * @returns all that was tried, the fastest first
 */
export async function sweepBullmq(
  side: SideWithWorker,
  callers: number,
  seconds: number,
): Promise<readonly [Tried, ...Tried[]]> {
  const settings = Object.values(resultWays).flatMap((results) =>
    concurrencies.map((concurrency) => ({ concurrency, results })),
  );
  const rates = new Map<BullmqSetting, number>();
  for (const setting of [...settings, ...settings.toReversed()]) {
    await tune(side, setting);
    const report = await side.caller.load({ callers, imageBytes, until: { seconds } });
    rates.set(setting, (rates.get(setting) ?? 0) + report.tasks / report.seconds / 2);
  }
  const [best, ...rest] = [...rates]
    .map(([setting, tasksPerSecond]) => ({ ...setting, tasksPerSecond }))
    .sort((a, b) => b.tasksPerSecond - a.tasksPerSecond);
  if (!best) throw new Error('nothing was tried');
  return [best, ...rest];
}

export async function tune({ caller, worker }: SideWithWorker, { concurrency, results }: BullmqSetting): Promise<void> {
  await worker.tune(String(concurrency));
  await caller.tune(results);
}
