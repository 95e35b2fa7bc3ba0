import type { BenchOptions } from '../bench.js';
import type { Generator } from '../http/start-generator.js';
import { withSurroundings, type Surroundings } from '../surroundings.js';
import { bestOf } from './best-of.js';
import { layoutName, layouts, type Layout } from './layouts.js';
import { ask, formName, loopOf, oursOf, queueOf, type Material, type QueueForm, type Server } from './parties.js';
import type { Sizes } from './task.js';

/** How each side is run, and what was tried to find that out. */
export interface Chosen {
  readonly ours: Layout;
  readonly loop: Layout;
  readonly queue: QueueForm;
  readonly tried: readonly string[];
}

const queueForms: readonly QueueForm[] = [
  { spinning: false, atOnce: 1 },
  { spinning: false, atOnce: 2 },
  { spinning: true, atOnce: 1 },
  { spinning: true, atOnce: 2 },
];

/** Tries what each side may do with the cores, in short stretches of its own, and takes the best; nothing when quick. */
export async function chooseSettings(
  generator: Generator,
  material: Material,
  { images, callers }: Sizes,
  { quick, say }: BenchOptions,
): Promise<Chosen> {
  const shared = layouts();
  const [[layout], [form]] = [shared, queueForms];
  if (!layout || !form) throw new Error('there is nothing to choose from');
  if (quick) return { ours: layout, loop: layout, queue: form, tried: [] };
  say('which settings suit whom');
  const stretch = Math.round(images / 2);
  const serverRate = async (server: Server) => {
    const rate = async (requests: number) => {
      const { report } = await ask(generator, server, material.files, { pace: { kind: 'closed', callers, requests } });
      return (report.statuses['200'] ?? 0) / report.seconds;
    };
    await rate(stretch / 2);
    return rate(stretch);
  };
  const loopRate = async (here: Surroundings, candidate: Layout) => {
    const loop = await loopOf(here, material, candidate);
    await loop.run({ what: 'whole', images: stretch / 2 });
    const { seconds } = await loop.run({ what: 'whole', images: stretch });
    return stretch / seconds;
  };
  const alone = (work: (here: Surroundings) => Promise<number>) => withSurroundings(work);
  const loop = await bestOf(shared, layoutName, (one) => alone((here) => loopRate(here, one)));
  const ours = await bestOf(shared, layoutName, (one) =>
    alone(async (here) => serverRate(await oursOf(here, material, one))),
  );
  const queue = await bestOf(queueForms, formName, (one) =>
    alone(async (here) => serverRate(await queueOf(here, material, one))),
  );
  return {
    ...{ ours: ours.best, loop: loop.best, queue: queue.best },
    tried: [
      `images/s in short trials: ours ${ours.tried}`,
      `the bare loop ${loop.tried}`,
      `the in-process queue ${queue.tried}`,
    ],
  };
}
