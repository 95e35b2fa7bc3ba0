import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Bench, Measured } from './bench.js';
import { drawChart } from './chart.js';
import type { Machine } from './machine.js';

/** What is written of a bench: every round, and all that is needed to doubt them. */
export interface Kept {
  readonly bench: string;
  readonly about: string;
  readonly at: string;
  readonly rounds: number;
  readonly machine: Machine;
  readonly measured: Measured;
}

/** Writes NAME.json and one NAME-CHART.svg per chart into a folder; says what it wrote. */
export function keep(folder: string, bench: Bench, rounds: number, machine: Machine, measured: Measured): string[] {
  mkdirSync(folder, { recursive: true });
  const { name, about } = bench;
  const kept: Kept = { bench: name, about, at: new Date().toISOString(), rounds, machine, measured };
  const files = [
    [`${name}.json`, `${JSON.stringify(kept, null, 1)}\n`] as const,
    ...measured.charts.map((chart) => [`${name}-${chart.name}.svg`, drawChart(chart, measured.rounds)] as const),
  ];
  for (const [file, text] of files) writeFileSync(join(folder, file), text);
  return files.map(([file]) => join(folder, file));
}
