import type { Round } from '../bench.js';
import type { Generator } from '../http/start-generator.js';
import { interleaved, type Side } from '../rounds.js';
import type { Surroundings } from '../surroundings.js';
import type { Servers } from './capacity.js';
import { ask, queueOf, type QueueForm, type Server } from './parties.js';
import { overloaded, sideNames, type Task } from './task.js';

/** How long a caller waits, in milliseconds; what comes later is of no use. */
const withinMs = 2000;

/**
 * The servers get twice what the queue can do, whether they answer or not, and a bounded queue gets the same.
 * @param perSecond images that the queue did at capacity
 */
export async function measureOverload(
  here: Surroundings,
  generator: Generator,
  {
    material,
    sizes,
    options,
    chosen,
    servers,
    perSecond,
  }: Task & { readonly servers: Servers; readonly perSecond: number },
): Promise<readonly Round[]> {
  // What it would get done within half of a caller's patience.
  const form: QueueForm = { ...chosen.queue, mostHeld: Math.max(16, Math.round(perSecond)) };
  const bounded = await queueOf(here, material, form);
  // More than ever wait for an answer that is of use.
  const connections = Math.ceil(((2 * perSecond * withinMs) / 1000) * 2);
  // The same arrivals for all within a round, others in the next.
  const seeds = new Map<string, number>();
  const side = (name: string, server: Server): Side => ({
    name: overloaded(name),
    measure: async () => {
      const seed = (seeds.get(name) ?? 0) + 1;
      seeds.set(name, seed);
      const pace = { kind: 'open', perSecond: 2 * perSecond, seconds: sizes.overloadSeconds, seed } as const;
      const { report } = await ask(generator, server, material.files, { pace, connections, withinMs });
      const { p50Ms, p99Ms, requests, statuses } = report;
      // Answers in time may still come after the last request was sent.
      const answering = Math.min(report.seconds, pace.seconds + withinMs / 1000);
      const goodput = (report.goodput * pace.seconds) / answering;
      return { goodput, p50Ms, p99Ms, refused: (100 * (requests - (statuses['200'] ?? 0))) / requests };
    },
  });
  const sides = [
    side(sideNames.ours, servers.ours),
    side(sideNames.queue, servers.queue),
    side(sideNames.bounded, bounded),
  ];
  options.say(`twice the queue's capacity: ${(2 * perSecond).toFixed(0)} requests per second`);
  return interleaved(sides, { rounds: options.rounds, warmUps: 0, say: options.say });
}
