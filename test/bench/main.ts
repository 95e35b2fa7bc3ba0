/** `npm run bench -- NAME…`: measures, prints a table, and writes every round and the charts; without a name, all. */
import { join, relative } from 'node:path';
import { parseArgs } from 'node:util';
import { ensureRedisServer } from '../../infra/setup/redis-server.js';
import { VoidRun, type Bench, type BenchOptions } from './bench.js';
import { benches } from './benches.js';
import { forget, keep, summarize } from './keep.js';
import { machine, machineLine } from './machine.js';
import { goalLines, verdict, table } from './table.js';

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    rounds: { type: 'string', default: '5' },
    quick: { type: 'boolean', default: false },
    'soak-minutes': { type: 'string', default: '30' },
    out: { type: 'string', default: join('.cache', 'bench') },
  },
});

const say = (what: string) => console.error(`  ${what}`);
const wanted = chosen(positionals);
const redis = await ensureRedisServer(join('.cache', 'redis'), say);
// What starts servers asks for the program by this name.
process.env['SAMPAN_TEST_REDIS_BIN'] = redis.binary;
const here = machine(redis.binary);
const options: BenchOptions = {
  rounds: Number(values.rounds),
  quick: values.quick,
  soakMinutes: Number(values['soak-minutes']),
  say,
};
const missed: string[] = [];
for (const bench of wanted) await runBench(bench);
console.log(`\n${machineLine(here)}`);
console.log(`median (least–most) of ${String(options.rounds)} interleaved rounds`);
if (values.quick) console.log('quick: the sizes were small, and the figures prove nothing');
if (missed.length > 0) {
  console.log(`goals were missed or void in: ${missed.join(', ')}`);
  process.exitCode = 1;
}

async function runBench(bench: Bench): Promise<void> {
  console.log(`\n## ${bench.name}\n\n${bench.about}\n`);
  try {
    const measured = await bench.run(options);
    const lines = [...table(measured), '', ...goalLines(measured.goals), ...measured.remarks];
    const settings = Object.entries(measured.settings).map(([name, value]) => `${name}=${String(value)}`);
    console.log([...lines, '', `settings: ${settings.join(' ')}`].join('\n'));
    const written = keep(values.out, bench, options, here, measured);
    console.log(`written: ${written.map((file) => relative(process.cwd(), file)).join(', ')}`);
    summarize(
      values.out,
      benches.map(({ name }) => name),
    );
    if (measured.goals.some((goal) => verdict(goal) === 'missed')) missed.push(bench.name);
  } catch (error) {
    if (!(error instanceof VoidRun)) throw error;
    console.log(`VOID: ${error.message}`);
    forget(values.out, bench);
    missed.push(bench.name);
  }
}

function chosen(names: readonly string[]): readonly Bench[] {
  if (names.length === 0) return benches.filter(({ name }) => name !== 'device');
  return names.map((name) => {
    const found = benches.find((bench) => bench.name === name);
    if (found) return found;
    console.error(`there is no bench "${name}"; there are: ${benches.map((bench) => bench.name).join(', ')}`);
    process.exit(2);
  });
}
