import type { Generator } from '../http/start-generator.js';
import { Redis } from 'ioredis';
import { interleaved } from '../rounds.js';
import { predictRequest, shippedEnv, startEdge, startSimulatedBackend, withLoad } from '../shipped-system.js';
import { withSurroundings, type Part, type Surroundings } from '../surroundings.js';
import { idleRounds } from './idle.js';
import { fillCache, lookups, measuredAt, predicts, type Asked } from './requests.js';
import { ends, flat, type SectionRun } from './section.js';
import { startStrangers, type Strangers } from './strangers.js';

const model = 'bench';
const lookupSide = 'models: lookup';
const predictSide = 'models: predict';

interface Size {
  readonly models: number;
  readonly edge: Part;
  readonly backend: Part;
  readonly redis: readonly Redis[];
}

/** Requests for one model among so many in the catalogue, each with a consumer in the register. */
export const catalogue: SectionRun = ({ rounds: count, quick, say }) =>
  withLoad({ bytes: 1000, generators: 1 }, (file, [generator]) =>
    withSurroundings(async (here) => {
      const sizes = quick ? [1, 100] : [1, 100, 1000];
      const strangers: Strangers[] = [];
      const started: Size[] = [];
      try {
        for (const models of sizes) {
          say(`starting: ${String(models)} models`);
          started.push(await startSize(here, models, strangers));
        }
        const requests = quick ? 400 : 4000;
        const asked = started.flatMap((size) => askedOf(size, generator, file, requests));
        const rounds = await interleaved(asked.map(measuredAt), { rounds: count, warmUps: 2, say });
        const idle = started.map(({ models, edge, backend }) => ({
          point: models,
          edge: edge.pid,
          backend: backend.pid,
        }));
        const idling = await idleRounds('models: nothing asked', quick ? 2 : 5, idle);
        return {
          rounds: [...rounds, ...idling],
          goals: [lookupSide, predictSide].map((side) => {
            return flat(rounds, { side, key: 'sum', what: 'CPU of edge and Redis per request', ...ends(sizes) });
          }),
          settings: { catalogueRequestsEach: requests },
          remarks: [
            'models: a system for each size; every model has its manifest in the catalogue and a consumer in the register; asked is one of them; what reading the register each second costs is in the figures, and alone in the row where nothing is asked',
          ],
        };
      } finally {
        await Promise.all(strangers.map((each) => each.stop()));
        for (const client of started.flatMap(({ redis }) => redis)) client.disconnect();
      }
    }),
  );

async function startSize(here: Surroundings, models: number, strangers: Strangers[]): Promise<Size> {
  const [stream, cache] = [await here.redis('stream'), await here.redis('cache')];
  const env = shippedEnv(here, stream, cache);
  const others = Array.from({ length: models - 1 }, (_, i) => `other-${String(i)}`);
  strangers.push(await startStrangers(stream.url, others));
  await fillCache(cache.url, model, entries);
  const backend = await startSimulatedBackend(here, env, { models: [model] });
  return { models, backend, edge: await startEdge(here, env), redis: [new Redis(stream.url), new Redis(cache.url)] };
}

const entries = 1000;

function askedOf(
  { models, edge, redis }: Size,
  generator: Generator,
  file: string,
  requests: number,
): readonly Asked[] {
  const to = { point: models, server: edge, redis, generator };
  return [
    { ...to, name: lookupSide, load: lookups(model, entries, requests) },
    { ...to, name: predictSide, load: predicts(predictRequest(model), file, Math.ceil(requests / 2)) },
  ];
}
