/** `npm run bench -- NAME`: measures and prints a table; without a name, everything there is. */
import { writeFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { machine, runCrossing, type Round } from './crossing/run.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    tasks: { type: 'string', default: '20000' },
    callers: { type: 'string', default: '64' },
    cache: { type: 'string', default: 'both' },
    json: { type: 'string' },
  },
});

const known = ['crossing'];
const wanted = positionals.length > 0 ? positionals : known;
const unknown = wanted.find((name) => !known.includes(name));
if (unknown !== undefined) {
  console.error(`there is no bench "${unknown}"; there are: ${known.join(', ')}`);
  process.exit(2);
}
await crossing();

async function crossing(): Promise<void> {
  const sizes = { rounds: Number(values.rounds), tasks: Number(values.tasks), callers: Number(values.callers) };
  const variants = values.cache === 'both' ? [false, true] : [values.cache === 'on'];
  const all: Record<string, readonly Round[]> = {};
  for (const cache of variants) {
    console.log(
      `\ncrossing, ${String(sizes.callers)} callers, 20 kB, no inference, 1 % tracing, cache ${cache ? 'on' : 'off'}`,
    );
    const rounds = await runCrossing({ ...sizes, cache });
    all[cache ? 'cache on' : 'cache off'] = rounds;
    printTable(rounds);
  }
  console.log(`\n${machine()}; CPU in µs per task, median (min–max) of ${String(sizes.rounds)} interleaved rounds`);
  if (values.json !== undefined) writeFileSync(values.json, JSON.stringify(all, null, 2));
}

function printTable(rounds: readonly Round[]): void {
  const columns = [
    'edgeMicros',
    'consumerMicros',
    'redisMicros',
    'totalMicros',
    'tasksPerSecond',
    'p50Ms',
    'p99Ms',
  ] as const;
  console.log(['side', ...columns].map((name) => name.padStart(18)).join(''));
  for (const side of new Set(rounds.map((round) => round.side))) {
    const own = rounds.filter((round) => round.side === side);
    const cells = columns.map((column) => spread(own.map((round) => round[column])));
    console.log([side, ...cells].map((cell) => cell.padStart(18)).join(''));
  }
  const ratios = ratioPerRound(rounds);
  console.log(`CPU per task, sampan / bare loop, round by round: ${spread(ratios, 2)}`);
}

function ratioPerRound(rounds: readonly Round[]): number[] {
  const ours = rounds.filter((round) => round.side === 'sampan');
  const bare = rounds.filter((round) => round.side !== 'sampan');
  return ours.map((round, i) => round.totalMicros / (bare[i]?.totalMicros ?? NaN));
}

function spread(values: readonly number[], digits = 0): string {
  const sorted = [...values].sort((a, b) => a - b);
  const shown = (value: number | undefined) =>
    (value ?? NaN).toFixed(value !== undefined && value < 20 && digits === 0 ? 1 : digits);
  return `${shown(sorted[Math.floor(sorted.length / 2)])} (${shown(sorted[0])}–${shown(sorted.at(-1))})`;
}
