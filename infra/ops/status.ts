import type { Command } from 'commander';
import type { Redis } from 'ioredis';
import { readCatalogue } from '../../contracts/catalogue.js';
import { readBacklog, type Backlog } from '../../contracts/backlog.js';
import { liveConsumers, type Registration } from '../../contracts/register.js';
import { connected } from './connected.js';
import { drawTable } from './table.js';

const watchEveryMs = 1000;
const MiB = 1024 * 1024;

/** `ops status`: backlog, pending, consumers and rates. */
export function addStatusCommand(program: Command): void {
  program
    .command('status')
    .description('models with their backlog, and consumers')
    .option('--watch', 'again every second, until Ctrl-C')
    .action(status);
}

async function status({ watch = false }: { readonly watch?: boolean }): Promise<void> {
  await connected(async (client) => {
    let before: Seen | undefined;
    do {
      const seen = await look(client);
      // On a terminal each look takes the place of the one before.
      if (watch && process.stdout.isTTY) process.stdout.write('\x1b[2J\x1b[H');
      console.log(drawn(seen, before));
      before = seen;
      if (watch) await new Promise((resolve) => setTimeout(resolve, watchEveryMs));
    } while (watch);
  });
}

interface Seen {
  readonly at: number;
  readonly backlogs: ReadonlyMap<string, Backlog>;
  readonly versions: ReadonlyMap<string, string>;
  readonly consumers: readonly Registration[];
}

async function look(client: Redis): Promise<Seen> {
  const [catalogue, consumers] = await Promise.all([readCatalogue(client), liveConsumers(client)]);
  const names = [...catalogue.keys()].sort();
  const backlogs = await Promise.all(names.map(async (name) => [name, await readBacklog(client, name)] as const));
  const versions = new Map([...catalogue].map(([name, { version }]) => [name, version]));
  return { at: Date.now(), backlogs: new Map(backlogs), versions, consumers };
}

function drawn(seen: Seen, before: Seen | undefined): string {
  return `${drawTable(modelColumns, modelRows(seen, before))}\n\n${drawTable(consumerColumns, consumerRows(seen))}`;
}

const modelColumns = ['model', 'version', 'consumers', 'can do/s', 'left/s', 'backlog', 'waiting', 'pending', 'dead'];

function modelRows({ at, backlogs, versions, consumers }: Seen, before: Seen | undefined): string[][] {
  return [...backlogs].map(([name, { entries, pending, left, dead }]) => {
    const version = versions.get(name) ?? '';
    const held = consumers.flatMap(({ state, models }) =>
      state === 'ready' ? models.filter((one) => one.model === name && one.version === version) : [],
    );
    const rate = held.reduce((sum, { tasksPerSecond }) => sum + tasksPerSecond, 0);
    const past = before?.backlogs.get(name)?.left;
    const leftPerSecond = before && past !== undefined ? ((left - past) * 1000) / (at - before.at) : undefined;
    return [
      ...[name, version, String(held.length), rate.toFixed(1), leftPerSecond?.toFixed(1) ?? '-'],
      ...[entries, entries - pending, pending, dead].map(String),
    ];
  });
}

const consumerColumns = ['consumer', 'device', 'state', 'memory MiB', 'models', 'up'];

function consumerRows({ at, consumers }: Seen): string[][] {
  return consumers.map(({ consumer, device, state, memory, models, startedAt }) => [
    ...[consumer, `${device.kind} ${device.name}`, state, (memory.residentBytes / MiB).toFixed()],
    models.map(({ model, version }) => `${model}@${version}`).join(' '),
    `${String(Math.max(0, Math.round((at - startedAt) / 1000)))} s`,
  ]);
}
