import { mkdirSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import * as z from 'zod';
import { measuredSchema, type Bench, type BenchOptions, type Measured } from './bench.js';
import { drawChart } from './chart.js';
import { machineLine, machineSchema, type Machine } from './machine.js';
import { goalLines, verdict, shown, table } from './table.js';

/** What is written of a bench: every round, and all that is needed to doubt them. */
const keptSchema = z.strictObject({
  bench: z.string(),
  about: z.string(),
  at: z.string(),
  rounds: z.int(),
  /** The sizes were small, and the figures prove nothing. */
  quick: z.boolean(),
  machine: machineSchema,
  measured: measuredSchema,
});
type Kept = z.infer<typeof keptSchema>;

/** Writes NAME.json and one NAME-CHART.svg per chart into a folder; answers the paths. */
export function keep(
  folder: string,
  bench: Bench,
  { rounds, quick }: Pick<BenchOptions, 'rounds' | 'quick'>,
  machine: Machine,
  measured: Measured,
): string[] {
  mkdirSync(folder, { recursive: true });
  const { name, about } = bench;
  const kept: Kept = { bench: name, about, at: new Date().toISOString(), rounds, quick, machine, measured };
  // JSON would write what is no number as null.
  keptSchema.parse(kept);
  const files = [
    [`${name}.json`, `${JSON.stringify(kept, null, 1)}\n`] as const,
    ...measured.charts.map((chart) => [chartFile(name, chart.name), drawChart(chart, measured.rounds)] as const),
  ];
  for (const [file, text] of files) writeFileSync(join(folder, file), text);
  return files.map(([file]) => join(folder, file));
}

const chartFile = (bench: string, chart: string) => `${bench}-${chart}.svg`;

/**
 * Writes README.md into a folder of kept benches: of each its table, goals, charts and settings.
 * @param order names of benches, as they are to stand
 */
export function summarize(folder: string, order: readonly string[]): void {
  const found = readdirSync(folder)
    .filter((file) => file.endsWith('.json'))
    .flatMap((file) => {
      const read = keptSchema.safeParse(JSON.parse(readFileSync(join(folder, file), 'utf8')));
      return read.success ? [read.data] : [];
    })
    .sort((a, b) => order.indexOf(a.bench) - order.indexOf(b.bench));
  const head = ['# Figures', '', 'Written by `npm run bench`; each JSON file here holds every round of a bench.', ''];
  writeFileSync(join(folder, 'README.md'), [...head, ...overview(found), '', ...found.flatMap(chapter)].join('\n'));
}

function overview(found: readonly Kept[]): string[] {
  const rows = found.flatMap(({ bench, measured: { goals } }) =>
    goals.map(
      (goal) =>
        `| ${bench} | ${goal.promise} | ${shown(goal.perRound, 2)} | ${verdict(goal)}${goal.limit === undefined ? '' : `: ${goal.limit}`} |`,
    ),
  );
  return ['| bench | goal | measured | |', '| --- | --- | --- | --- |', ...rows];
}

function chapter({ bench, about, at, rounds, quick, machine, measured }: Kept): string[] {
  const settings = Object.entries(measured.settings).map(([name, value]) => `${name}=${String(value)}`);
  return [
    ...[
      `## ${bench}`,
      '',
      ...(quick ? ['**Quick: these figures prove nothing.**', ''] : []),
      about,
      '',
      ...table(measured),
      '',
    ],
    ...goalLines(measured.goals).map((line) => `- ${line}`),
    ...(measured.goals.length > 0 ? [''] : []),
    ...measured.remarks.flatMap((remark) => [remark, '']),
    ...measured.charts.flatMap(({ name, title }) => [`![${title}](${chartFile(bench, name)})`, '']),
    ...[
      `Median (least–most), ${String(rounds)} rounds unless a remark says otherwise, ${at}; ${machineLine(machine)}.`,
      '',
    ],
    ...[`\`${settings.join(' ')}\``, ''],
  ];
}

/** Takes away what an earlier run left of a bench, so that it does not pass for what was void now. */
export function forget(folder: string, { name }: Bench): void {
  rmSync(join(folder, `${name}.json`), { force: true });
}
