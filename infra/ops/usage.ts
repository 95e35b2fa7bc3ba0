import { InvalidArgumentError, type Command } from 'commander';
import { dayOf, readUsage, usageKinds } from '../../contracts/usage.js';
import { connected } from './connected.js';
import { drawTable } from './table.js';

/** `ops usage`: what tenants used on a day. */
export function addUsageCommand(program: Command): void {
  program
    .command('usage')
    .description('requests, pictures, hits and failures by tenant')
    .option('--day <day>', 'in UTC, such as 2027-06-30; today where left out', dayFrom, dayOf(Date.now()))
    .option('--json', 'as JSON')
    .action(show);
}

async function show({ day, json = false }: { readonly day: string; readonly json?: boolean }): Promise<void> {
  const usage = await connected((client) => readUsage(client, day));
  const tenants = [...usage].sort(([one], [other]) => (one < other ? -1 : 1));
  if (json) {
    console.log(JSON.stringify({ day, tenants: Object.fromEntries(tenants) }));
    return;
  }
  const rows = tenants.map(([tenant, counts]) => [tenant, ...usageKinds.map((kind) => String(counts[kind]))]);
  console.log(drawTable(['tenant', ...usageKinds], rows));
}

function dayFrom(text: string): string {
  const at = Date.parse(text);
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text) || Number.isNaN(at))
    throw new InvalidArgumentError('expected a day such as 2027-06-30');
  return text;
}
