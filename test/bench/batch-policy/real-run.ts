import type { Round } from '../bench.js';
import { predictRequest, shippedEnv, startEdge, startSimulatedBackend, withLoad } from '../shipped-system.js';
import { withSurroundings, type Surroundings } from '../surroundings.js';
import { capacityOf, type DeviceCost } from './simulation.js';

export interface RealRunOptions {
  readonly device: DeviceCost;
  /** Percent of what the device does in full batches. */
  readonly loads: readonly number[];
  readonly rounds: number;
  readonly quick: boolean;
  readonly say: (what: string) => void;
}

export const realSide = ({ baseMs, perImageMs }: DeviceCost) =>
  `ours in real time, ${String(baseMs)} + ${String(perImageMs)}·n ms`;

/** The same load through the shipped edge and backend, whose device takes the time that it says. */
export function realRuns({ device, loads, rounds, quick, say }: RealRunOptions): Promise<Round[]> {
  return withLoad({ bytes: 1000, generators: 1 }, (file, [generator]) =>
    withSurroundings(async (here) => {
      const url = await startSystem(here, device);
      const { headers, ...request } = predictRequest('bench');
      const send = (load: number, seed: number) =>
        generator.send({
          ...{
            ...request,
            headers: { ...headers, 'x-timeout-ms': '2000' },
            origins: [url],
            files: [file],
            unique: true,
          },
          pace: { kind: 'open', perSecond: (capacityOf(device) * load) / 100, seconds: quick ? 2 : 10, seed },
        });
      say('in real time, warming up');
      await send(75, 1);
      const measured: Round[] = [];
      for (let round = 0; round < rounds; round++) {
        say(`round ${String(round + 1)} of ${String(rounds)}, in real time`);
        for (const load of loads) {
          const { p50Ms, p99Ms, goodput, requests, statuses } = await send(load, 100 * round + load);
          const refused = (100 * (requests - (statuses['200'] ?? 0))) / requests;
          const values = { p50Ms, p99Ms, perSecond: goodput, refused };
          measured.push({ side: realSide(device), point: load, round, values });
        }
      }
      return measured;
    }),
  );
}

/** @returns the edge's URL */
async function startSystem(here: Surroundings, device: DeviceCost): Promise<string> {
  const env = shippedEnv(here, await here.redis('stream'), await here.redis('cache'));
  await startSimulatedBackend(here, env, { models: ['bench'], ...device });
  return (await startEdge(here, env)).url;
}
