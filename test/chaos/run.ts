import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../random.js';
import { drawUp, type Evidence } from './account.js';
import type { Fault } from './faults.js';
import { readJournal } from './journal.js';
import { leftoversOf } from './leftovers.js';
import { watchMemory } from './memory.js';
import { printed } from './print.js';
import { readRecords } from './record.js';
import { runSchedule } from './schedule.js';
import { verdictOn } from './verdict.js';
import { serversIn, startWorld, type World, type WorldOptions } from './world.js';

/** One run: what is there, which faults strike it, for how long. */
export interface RunOptions {
  readonly title: string;
  readonly seconds: number;
  /** Load before that, without faults. */
  readonly warmUpMs: number;
  readonly seed: number;
  readonly faults: readonly Fault[];
  /** Names of faults that are kept from striking, to see that the run fails. */
  readonly kept: ReadonlySet<string>;
  readonly world: Omit<WorldOptions, 'dir' | 'backendEnv' | 'clients'> & {
    readonly clients: Omit<WorldOptions['clients'], 'recordFile' | 'seed'>;
    readonly backendEnv: (journalFile: string) => Readonly<Record<string, string>>;
  };
  /** Whether the device keeps a journal. */
  readonly keepsJournal: boolean;
  /** Folder of its own for logs, records and journal, made anew and kept; a temporary one where left out. */
  readonly dir?: string | undefined;
  readonly say: (line: string) => void;
}

/** Builds a world, lets faults strike it under load, and judges what happened. Answers why it failed, if it did. */
export async function runChaos(options: RunOptions): Promise<readonly string[]> {
  const { title, seed, say, world: wanted } = options;
  const dir = options.dir ?? mkdtempSync(join(tmpdir(), 'sampan-chaos-'));
  rmSync(dir, { recursive: true, force: true });
  mkdirSync(dir, { recursive: true });
  const files = { records: join(dir, 'records.jsonl'), journal: join(dir, 'journal.jsonl') };
  const clearAway = () => {
    rmSync(options.dir === undefined ? dir : serversIn(dir), { recursive: true, force: true });
  };
  let world: World | undefined;
  const release = whenAbandoned(async () => {
    await world?.stop();
    clearAway();
  });
  try {
    world = await startWorld({
      ...wanted,
      ...{ dir, backendEnv: wanted.backendEnv(files.journal) },
      clients: { ...wanted.clients, seed, recordFile: files.records },
    });
    const account = drawUp(await observe(world, options, files));
    const reasons = verdictOn(account);
    say(printed(title, account, reasons));
    return reasons;
  } finally {
    await world?.stop();
    clearAway();
    release();
  }
}

/** Does something before this process ends by a signal; answers how to take that back. */
function whenAbandoned(clean: () => Promise<void>): () => void {
  const signals = ['SIGINT', 'SIGTERM'] as const;
  const end = () => void clean().finally(() => process.exit(130));
  for (const signal of signals) process.once(signal, end);
  return () => {
    for (const signal of signals) process.off(signal, end);
  };
}

async function observe(
  world: World,
  options: RunOptions,
  files: { records: string; journal: string },
): Promise<Evidence> {
  const { title, seconds, seed, faults, kept, say } = options;
  say(`${title}: ${String(seconds)} seconds, seed ${String(seed)}, ${clocks(world)}`);
  world.load.begin();
  await sleep(options.warmUpMs);
  // The first of each kind is never killed, so what it holds can be compared from the beginning to the end.
  const witnesses = [world.edges[0], world.backends[0]].flatMap((station) => (station ? [station.part] : []));
  const memory = watchMemory(witnesses);
  const { strikes, missed } = await runSchedule(world, { faults, seconds, random: seededRandom(seed), kept, say });
  const courses = memory.stop();
  say('  the faults are over; waiting until all is quiet');
  const clients = await world.load.stop();
  await world.untilReady();
  const leftovers = await leftoversOf(world.streams.direct, world.model);
  const parts = world.stations.map(({ part }) => part);
  const badEnds = await world.stop();
  return {
    ...{ strikes, missed, clients, leftovers, badEnds, memory: courses },
    records: readRecords(files.records),
    inferences: options.keepsJournal ? readJournal(files.journal, parts) : undefined,
    edges: world.edges.map(({ part }) => part),
    backends: world.backends.map(({ part }) => part),
  };
}

function clocks(world: World): string {
  const off = world.stations.filter(({ part }) => part.clockOffMs !== 0);
  return `clocks off: ${off.map(({ part }) => `${part.name} ${String(part.clockOffMs / 60_000)} min`).join(', ')}`;
}
