import type { Column } from '../bench.js';
import { cpuDuring } from '../process-cpu.js';
import type { LoadCommand } from './messages.js';
import type { CrossingSide } from './sides.js';

/** What a picture is here: so many random bytes, which nobody decodes. */
export const imageBytes = 20_000;

/** What goes before each stretch, and does not count. */
const runUp = { seconds: 1.5 };

export type Stretch = Pick<LoadCommand, 'callers' | 'until'>;

/** Lets callers call for a stretch: CPU µs per task of each party, tasks per second, latencies. */
export async function measureStretch(
  { caller, pids }: CrossingSide,
  stretch: Stretch,
): Promise<Record<string, number>> {
  // While the other sides had their turns this one's heap shrank and code that was not used was thrown away.
  await caller.load({ callers: stretch.callers, until: runUp, imageBytes });
  const { result, micros } = await cpuDuring(pids, () => caller.load({ ...stretch, imageBytes }));
  const { tasks, seconds, p50Ms, p99Ms } = result;
  const perTask = (name: string) => (micros[name] ?? Number.NaN) / tasks;
  const [edgeMicros, consumerMicros, redisMicros] = [perTask('edge'), perTask('consumer'), perTask('redis')];
  const processMicros = edgeMicros + consumerMicros;
  return {
    ...{ edgeMicros, consumerMicros, redisMicros, processMicros, totalMicros: processMicros + redisMicros },
    ...{ tasksPerSecond: tasks / seconds, p50Ms, p99Ms },
  };
}

export const crossingColumns: readonly Column[] = [
  { key: 'edgeMicros', label: 'edge CPU µs per task' },
  { key: 'consumerMicros', label: 'consumer CPU µs per task' },
  { key: 'redisMicros', label: 'Redis CPU µs per task' },
  { key: 'totalMicros', label: 'all CPU µs per task' },
  { key: 'tasksPerSecond', label: 'tasks/s', digits: 0 },
  { key: 'p50Ms', label: 'p50 ms', digits: 2 },
  { key: 'p99Ms', label: 'p99 ms', digits: 2 },
];

/** A server runs for weeks: what is measured is code that has been compiled. */
export async function warmUp(
  sides: readonly CrossingSide[],
  { turns, tasks, say }: { turns: number; tasks: number; say: (what: string) => void },
): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    for (const { name, caller } of sides) {
      say(`warming up ${name}, ${String(turn)} of ${String(turns)}`);
      await caller.load({ callers: 64, imageBytes, until: { tasks } });
    }
  }
}
