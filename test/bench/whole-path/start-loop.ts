import type { Surroundings } from '../surroundings.js';
import { loopReportSchema, type LoopOrder, type LoopReport, type LoopSettings } from './loop-orders.js';

export interface BareLoop {
  readonly pid: number;
  /** Resolves when all is done. @throws Error when the loop cannot do it */
  run(order: LoopOrder): Promise<LoopReport>;
  stop(): Promise<void>;
}

/**
 * Starts a bare loop as a process of its own.
 * @param env such as the size of libuv's pool, and what a GPU's runtime looks for
 * @throws Error with the process's last words, such as that the provider is not there
 */
export async function startLoop(
  here: Surroundings,
  settings: LoopSettings,
  env: Readonly<Record<string, string>> = {},
): Promise<BareLoop> {
  const { pid, url, stop } = await here.start('test/bench/whole-path/bare-loop.js', env, [JSON.stringify(settings)]);
  return {
    pid,
    stop,
    run: async ({ what, images }) => {
      const response = await fetch(`${url}/?what=${what}&images=${String(images)}`);
      const answer: unknown = await response.json();
      if (!response.ok) throw new Error(`the bare loop cannot do that: ${JSON.stringify(answer)}`);
      return loopReportSchema.parse(answer);
    },
  };
}
