import type { Account } from './account.js';
import type { MemoryCourse } from './memory.js';
import { leastPending } from './times.js';

/** The account as a table for people, and the verdict under it. */
export function printed(title: string, account: Account, reasons: readonly string[]): string {
  return [
    '',
    `${title}: the account`,
    ...requestLines(account),
    ...inferenceLines(account),
    ...strikeLines(account),
    ...restLines(account),
    reasons.length === 0 ? `${title}: passed` : `${title}: FAILED`,
    ...reasons.map((reason) => `  - ${reason}`),
  ].join('\n');
}

function requestLines({ codes, evidence }: Account): string[] {
  const { clients, records } = evidence;
  const kinds = countBy(records.map(({ why }) => why));
  const width = Math.max(20, ...codes.map(({ what }) => what.length)) + 4;
  const row = (what: string, calm: string, disturbed: string) =>
    `    ${what.padEnd(width)}${calm.padStart(10)}${disturbed.padStart(14)}`;
  return [
    `  sent ${String(clients.sent)} (${listed(kinds)}); due but held back ${String(clients.heldBack)}; the clients' own process was held up ${String(clients.worstLagMs)} ms at worst`,
    row('answered', 'in calm', 'under faults'),
    ...codes.map(({ what, calm, disturbed }) => row(what, String(calm), String(disturbed))),
  ];
}

function inferenceLines({ evidence, inferred, reruns }: Account): string[] {
  if (!evidence.inferences) return ['  inferred: this device keeps no journal'];
  const reasons = countBy(reruns.map(({ reason }) => reason ?? 'WITHOUT A REASON'));
  return [
    `  inferred ${String(inferred.pictures)} pictures in ${String(inferred.runs)} runs of a picture, ${String(inferred.unfinished)} of which never ended`,
    `  inferred once more: ${reruns.length === 0 ? 'none' : listed(reasons)}`,
  ];
}

function strikeLines({ evidence }: Account): string[] {
  const { strikes } = evidence;
  const least = Math.min(...strikes.map(({ pending }) => pending));
  return [
    `  faults: ${listed(countBy(strikes.map(({ fault }) => fault)))}; at least ${String(least)} entries pending at each (${String(leastPending)} wanted)`,
  ];
}

function restLines({ evidence }: Account): string[] {
  const { leftovers, memory, edges, backends } = evidence;
  const starts = [...edges, ...backends].map(({ name, lives }) => `${name} ${String(lives.length)}`);
  return [
    `  left over: ${leftovers.found.length === 0 ? 'nothing' : `${String(leftovers.found.length)} things`}; dead letters: ${String(leftovers.deadLetters.length)}`,
    ...leftovers.deadLetters.map((letter) => `    ${letter}`),
    ...memory.map(memoryLine),
    `  starts: ${starts.join(', ')}`,
  ];
}

function memoryLine({ part, firstHalf, lastQuarter, eighths, samples }: MemoryCourse): string {
  const course = eighths.map((MiB) => MiB.toFixed()).join(' ');
  const ratio = (lastQuarter / firstHalf).toFixed(3);
  return `  memory of ${part} (never killed), MiB by eighths of the run: ${course}; last quarter / first half ${ratio} (${String(samples)} samples)`;
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

function listed(counts: ReadonlyMap<string, number>): string {
  return [...counts].map(([name, count]) => `${name} ${String(count)}`).join(', ');
}
