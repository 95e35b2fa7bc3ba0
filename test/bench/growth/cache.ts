import { Redis } from 'ioredis';
import { interleaved } from '../rounds.js';
import { shippedEnv, startEdge, startSimulatedBackend, withLoad } from '../shipped-system.js';
import { withSurroundings } from '../surroundings.js';
import { fillCache, lookups, measuredAt, type Asked } from './requests.js';
import { ends, flat, type SectionRun } from './section.js';

const model = 'bench';
const side = 'cached answers: lookup';

/** Lookups in caches of so many answers. */
export const cacheEntries: SectionRun = ({ rounds: count, quick, say }) =>
  withLoad({ bytes: 1000, generators: 1 }, (_file, [generator]) =>
    withSurroundings(async (here) => {
      const sizes = quick ? [10, 1000] : [10, 1000, 100_000, 1_000_000];
      const requests = quick ? 400 : 4000;
      const stream = await here.redis('stream');
      const asked: Asked[] = [];
      try {
        for (const entries of sizes) {
          say(`filling: ${String(entries)} answers`);
          const cache = await here.redis('cache', { extra: ['--maxmemory', '2gb'] });
          await fillCache(cache.url, model, entries);
          const env = shippedEnv(here, stream, cache);
          // Puts the model into the catalogue; lookups do not need it any more.
          if (asked.length === 0) await (await startSimulatedBackend(here, env, { models: [model] })).stop();
          asked.push({
            ...{ name: side, point: entries, redis: [new Redis(cache.url)], generator },
            ...{ server: await startEdge(here, env), load: lookups(model, entries, requests) },
          });
        }
        const rounds = await interleaved(asked.map(measuredAt), { rounds: count, warmUps: 2, say });
        return {
          rounds,
          goals: [flat(rounds, { side, ...ends(sizes), key: 'sum', what: 'CPU of edge and Redis per lookup' })],
          settings: { cacheMaxmemory: '2gb', lookupsEach: requests },
          remarks: [
            `${side}: a cache server and an edge for each size, answers of about 300 bytes that live a day; each lookup of another entry, 20,000 of them, spread over all: of a large cache they are in no processor’s cache, which is what Redis’s share shows`,
          ],
        };
      } finally {
        for (const client of asked.flatMap(({ redis }) => redis)) client.disconnect();
      }
    }),
  );
