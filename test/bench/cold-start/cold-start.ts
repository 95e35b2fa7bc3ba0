import { freePort } from '../../../infra/setup/free-port.js';
import { picture } from '../../pictures.js';
import type { Bench, BenchOptions, Measured } from '../bench.js';
import { shippedSettings, startWithAnswer } from '../http/answered-image.js';
import { figures, interleaved, type Side } from '../rounds.js';
import { withSurroundings, type Surroundings } from '../surroundings.js';
import { firstAnswers, pauseMs, type ColdStart } from './first-answers.js';
import { loadCosts } from './load-costs.js';

const [ours, empty, oneGet] = ['edge', 'empty Hono app', 'Hono, one GET'] as const;
const leastRounds = 10;
const quickRounds = 2;

export const coldStart: Bench = {
  name: 'cold-start',
  about:
    'From the spawn of a process to its first 200: the shipped edge (Redis is up), an empty Hono app on the same server, and the route with one GET that lookups are measured by.',
  run: (options) => withSurroundings((here) => compare(here, options)),
};

async function compare(here: Surroundings, options: BenchOptions): Promise<Measured> {
  const { edgeEnv, cache, lookupPath, edge } = await startWithAnswer(here, picture('cold start'));
  await edge.stop();
  const sides = [
    side(ours, ['health', 'answer'], (port) => ({
      ...{ module: 'edge.mjs', args: [], env: { ...edgeEnv, PORT: port } },
      paths: ['/healthz', lookupPath],
    })),
    side(empty, ['health'], (port) => ({
      ...{ module: 'test/bench/cold-start/empty-app.js', args: [port], env: {}, paths: ['/healthz'] },
    })),
    side(oneGet, ['answer'], (port) => ({
      ...{ module: 'test/bench/lookup/one-get.js', args: [cache.url, port], env: {}, paths: [lookupPath] },
    })),
  ];
  const count = options.quick ? quickRounds : Math.max(options.rounds, leastRounds);
  const rounds = await interleaved(sides, { ...options, rounds: count, warmUps: 1 });
  const costs = (await loadCosts()).map(([name, cpuMs]) => `${name} ${cpuMs.toFixed(0)}`);
  const [own, theirs] = [figures(rounds, ours, 'health'), figures(rounds, empty, 'health')];
  return {
    rounds,
    columns: [
      { key: 'health', label: 'ms to /healthz', digits: 0 },
      { key: 'answer', label: 'ms to a cached answer', digits: 0 },
      { key: 'cpu', label: 'CPU ms until then', digits: 0 },
    ],
    goals: [
      {
        promise: 'the first 200 of /healthz at most 300 ms later than that of an empty Hono app',
        perRound: own.map((ms, i) => ms - (theirs[i] ?? Number.NaN)),
        bound: { atMost: 300 },
      },
    ],
    charts: [{ name: 'cpu', title: 'Cold start: CPU ms until the first 200', key: 'cpu' }],
    settings: { spawns: count, askedEveryMs: pauseMs, ...shippedSettings },
    remarks: [
      `${String(count)} interleaved spawns each, whatever the number of rounds; files were read before, so the disk is not measured`,
      'the edge answers /healthz once it can serve: both Redis roles connected, the catalogue read, replies subscribed to, metrics served',
      `CPU ms to load packages, each alone, what they share in each: ${costs.join(', ')}`,
    ],
  };
}

/** A process whose milliseconds to each path, in their order, are called by these keys. */
function side(name: string, keys: readonly string[], start: (port: string) => Omit<ColdStart, 'port'>): Side {
  return {
    name,
    measure: async () => {
      const port = await freePort();
      const { ms, cpuMs } = await firstAnswers({ ...start(String(port)), port });
      return { ...Object.fromEntries(keys.map((key, i) => [key, ms[i] ?? Number.NaN])), cpu: cpuMs };
    },
  };
}
