import type { Bench, Chart, Goal, Round } from '../bench.js';
import { figures } from '../rounds.js';
import { quantile, spread } from '../statistics.js';
import { fixedWindow, ours } from './policies.js';
import { realRuns, realSide } from './real-run.js';
import { capacityOf, poissonArrivals, simulate, type DeviceCost, type Policy, type Simulated } from './simulation.js';

const devices: readonly DeviceCost[] = [
  { baseMs: 20, perImageMs: 2.5, maxBatch: 32 },
  { baseMs: 4, perImageMs: 1, maxBatch: 32 },
];
const policies: readonly { readonly name: string; readonly policy: Policy }[] = [
  { name: 'ours', policy: ours },
  { name: 'window 5 ms', policy: fixedWindow(5) },
  { name: 'window 20 ms', policy: fixedWindow(20) },
];
/** Percent of what the device does in full batches. */
const loads = [10, 25, 50, 75, 90, 100, 110];
const realLoads = [25, 75];
const deadlineMs = 2000;

/** In single rounds of 20,000 tasks the p99 of equally good policies differed by as much (40 seeds, either way). */
const seedNoise = 1.02;

export const batchPolicy: Bench = {
  name: 'batch-policy',
  about:
    'When a batch closes: our batcher (backend/batcher.ts itself) beside fixed windows, on simulated devices whose run ' +
    'of n images takes a + b·n, in virtual time; Poisson arrivals, another seed each round, the same for all sides.',
  run: async ({ rounds: count, quick, say }) => {
    const tasks = quick ? 2000 : 20_000;
    const rounds = Array.from({ length: count }, (_, round) => {
      say(`round ${String(round + 1)} of ${String(count)}, in virtual time`);
      return devices.flatMap((device) => loads.flatMap((load) => simulatedRounds(device, load, round, tasks)));
    }).flat();
    const [device] = devices;
    const real = device ? await realRuns({ device, loads: realLoads, rounds: Math.min(count, 3), quick, say }) : [];
    return {
      rounds: [...rounds, ...real],
      columns: [
        { key: 'p50Ms', label: 'p50 ms', digits: 1 },
        { key: 'p99Ms', label: 'p99 ms', digits: 1 },
        { key: 'perSecond', label: 'answered in time per second', digits: 0 },
        { key: 'batch', label: 'images per batch', digits: 1 },
        { key: 'busy', label: 'device busy', digits: 2 },
        { key: 'refused', label: 'refused or too late, %', digits: 1 },
      ],
      goals: devices.flatMap((each) => loads.flatMap((load) => goalsAt(rounds, each, load))),
      charts: devices.map((each): Chart => ({
        ...{ name: `p99-${String(each.baseMs)}`, title: `p99 in ms, a run takes ${costOf(each)}` },
        ...{ key: chartKey(each), axis: 'load, percent of the device in full batches' },
      })),
      settings: { tasks, deadlineMs, maxBatch: 32, realSeconds: quick ? 2 : 10 },
      remarks: [
        'at: load in percent of what the device does in full batches',
        'all sides refuse whom the product would refuse (more than 0.8 of the deadline to wait) and drop who has expired',
        'a window counts from the arrival of a batch’s first task, also while the device is busy: the best form of that rule',
        ...realLoads.map((load) => realRemark(real, rounds, load)),
      ],
    };
  },
};

function simulatedRounds(device: DeviceCost, load: number, round: number, tasks: number): readonly Round[] {
  const seed = 1 + round * 1000 + load * 7 + device.baseMs;
  const arrivals = poissonArrivals(tasks, (capacityOf(device) * load) / 100, seed);
  return policies.map(({ name, policy }) => {
    const values = figuresOf(simulate({ device, policy, arrivals, deadlineMs }), arrivals.length);
    return {
      ...{ side: sideOf(name, device), point: load, round },
      // Past its capacity every device keeps all callers for as long as the deadline allows, which would flatten the rest.
      values: { ...values, ...(load < 100 ? { [chartKey(device)]: values.p99Ms } : {}) },
    };
  });
}

function figuresOf({ latencies, ...simulated }: Simulated, arrived: number) {
  const sorted = Float64Array.from(latencies).sort();
  return {
    p50Ms: quantile(sorted, 0.5),
    p99Ms: quantile(sorted, 0.99),
    perSecond: (sorted.length * 1000) / simulated.endedAt,
    batch: simulated.ran / simulated.batches,
    busy: simulated.busyMs / simulated.endedAt,
    refused: (100 * (arrived - sorted.length)) / arrived,
  };
}

/** Ours beside the better of the windows, round by round. */
function goalsAt(rounds: readonly Round[], device: DeviceCost, load: number): readonly Goal[] {
  const byPolicy = (key: string) => policies.map(({ name }) => figures(rounds, sideOf(name, device), key, load));
  const perRound = (key: string, best: (...values: number[]) => number) => {
    const [own = [], ...windows] = byPolicy(key);
    return own.map((value, i) => value / best(...windows.map((window) => window[i] ?? Number.NaN)));
  };
  const where = `at ${String(load)} % of ${costOf(device)}`;
  return [
    {
      promise: `p99 at most ${String(seedNoise)} × the best window's ${where}`,
      perRound: perRound('p99Ms', Math.min),
      bound: { atMost: seedNoise },
    },
    {
      promise: `answered in time at least 0.99 × the best window's ${where}`,
      perRound: perRound('perSecond', Math.max),
      bound: { atLeast: 0.99 },
    },
  ];
}

function realRemark(real: readonly Round[], simulated: readonly Round[], load: number): string {
  const [device] = devices;
  if (!device) return '';
  const median = (rounds: readonly Round[], side: string, key: string) =>
    spread(figures(rounds, side, key, load)).median;
  const both = ['p50Ms', 'p99Ms'].map((key) => {
    const [seen, foreseen] = [median(real, realSide(device), key), median(simulated, sideOf('ours', device), key)];
    return `${key.slice(0, 3)} ${seen.toFixed(1)} ms, foreseen ${foreseen.toFixed(1)}`;
  });
  return `the shipped edge and backend on a device in real time, at ${String(load)} %: ${both.join('; ')}`;
}

const costOf = ({ baseMs, perImageMs }: DeviceCost) => `${String(baseMs)} + ${String(perImageMs)}·n ms`;
const sideOf = (policy: string, device: DeviceCost) => `${policy}, ${costOf(device)}`;
const chartKey = (device: DeviceCost) => `p99MsAt${String(device.baseMs)}`;
