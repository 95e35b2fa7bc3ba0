import type { Round } from '../bench.js';
import type { Generator } from '../http/start-generator.js';
import { cpuDuring } from '../process-cpu.js';
import { interleaved, type Side } from '../rounds.js';
import type { Surroundings } from '../surroundings.js';
import { ask, loopOf, oursOf, queueOf, type Server } from './parties.js';
import type { BareLoop } from './start-loop.js';
import { sideNames, type Task } from './task.js';

export interface Servers {
  readonly ours: Server;
  readonly queue: Server;
}

/** Every party gets as much as it can do, from callers that wait for their answers; the servers stay up. */
export async function measureCapacity(
  here: Surroundings,
  generator: Generator,
  { material, sizes, options, chosen }: Task,
): Promise<{ readonly rounds: readonly Round[]; readonly servers: Servers }> {
  const servers = {
    ours: await oursOf(here, material, chosen.ours),
    queue: await queueOf(here, material, chosen.queue),
  };
  const loop = await loopOf(here, material, chosen.loop);
  const pace = { kind: 'closed', callers: sizes.callers, requests: sizes.images } as const;
  const served = (name: string, server: Server): Side => ({
    name,
    measure: () => capacityOf(generator, server, material.files, pace),
  });
  const sides = [
    served(sideNames.ours, servers.ours),
    loopSide(loop, sizes.images),
    served(sideNames.queue, servers.queue),
  ];
  // Until some two thousand images have passed, a tenth of a server's CPU goes into compiling its code.
  const warmUps = options.quick ? 1 : 6;
  const rounds = await interleaved(sides, { rounds: options.rounds, warmUps, say: options.say });
  await loop.stop();
  return { rounds, servers };
}

async function capacityOf(
  generator: Generator,
  server: Server,
  files: readonly string[],
  pace: { readonly kind: 'closed'; readonly callers: number; readonly requests: number },
): Promise<Record<string, number>> {
  const { report, micros } = await ask(generator, server, files, { pace });
  const answered = report.statuses['200'] ?? 0;
  if (answered < report.requests) throw new Error(`not all were answered: ${JSON.stringify(report.statuses)}`);
  const perImage = (cpu: number) => cpu / 1000 / report.requests;
  const shares = Object.entries(micros).map(([who, cpu]) => [`${who}CpuMs`, perImage(cpu)] as const);
  return {
    perSecond: answered / report.seconds,
    cpuMs: shares.reduce((sum, [, ms]) => sum + ms, 0),
    ...Object.fromEntries(shares.filter(([who]) => who !== 'queueCpuMs')),
    ...{ p50Ms: report.p50Ms, p99Ms: report.p99Ms, generatorCpuMs: perImage(report.cpuMicros) },
  };
}

function loopSide(loop: BareLoop, images: number): Side {
  return {
    name: sideNames.loop,
    measure: async () => {
      const { result, micros } = await cpuDuring({ loop: loop.pid }, () => loop.run({ what: 'whole', images }));
      return { perSecond: images / result.seconds, cpuMs: (micros['loop'] ?? 0) / 1000 / images };
    },
  };
}
