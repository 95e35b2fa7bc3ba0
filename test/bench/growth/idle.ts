import { setTimeout as sleep } from 'node:timers/promises';
import type { Round } from '../bench.js';
import { cpuDuring } from '../process-cpu.js';

/** What processes take while nobody asks anything, ms of CPU per second, as a row for each point. */
export async function idleRounds(
  side: string,
  seconds: number,
  idle: readonly { readonly point: number; readonly edge: number; readonly backend?: number }[],
): Promise<Round[]> {
  const pids = Object.fromEntries(
    idle.flatMap(({ point, edge, backend }) => [
      [`edge ${String(point)}`, edge] as const,
      ...(backend === undefined ? [] : [[`backend ${String(point)}`, backend] as const]),
    ]),
  );
  const { micros } = await cpuDuring(pids, () => sleep(seconds * 1000));
  const perSecond = (name: string) => (micros[name] ?? 0) / 1000 / seconds;
  return idle.map(({ point, backend }) => ({
    ...{ side, point, round: 0 },
    values: {
      idleEdge: perSecond(`edge ${String(point)}`),
      ...(backend === undefined ? {} : { idleBackend: perSecond(`backend ${String(point)}`) }),
    },
  }));
}
