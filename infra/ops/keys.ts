import { InvalidArgumentError, Option, type Command } from 'commander';
import * as z from 'zod';
import { createApiKey, listApiKeys, revokeApiKey, type ApiKey } from '../../contracts/api-key.js';
import { grantSchema, permissionSchema, type Grant } from '../../contracts/grant.js';
import { connected } from './connected.js';
import { drawTable } from './table.js';

interface CreateOptions {
  readonly tenant: string;
  readonly tier: string;
  readonly permissions: readonly string[];
  readonly models?: readonly string[];
  readonly scope?: string;
  readonly perSecond?: number;
  readonly burst?: number;
  readonly perDay?: number;
  readonly atOnce?: number;
  readonly expires?: number;
  readonly label: string;
}

/** `ops keys create|list|revoke`. */
export function addKeyCommands(program: Command): void {
  const keys = program.command('keys').description('API keys');
  keys
    .command('create')
    .description('makes a key and shows it, once')
    .requiredOption('--tenant <name>', 'whose it is')
    .option('--tier <name>', 'whose limits hold', 'free')
    .option('--permissions <list>', `of ${permissionSchema.options.join(', ')}`, list, ['predict', 'tasks'])
    .option('--models <list>', 'the only ones it may ask; all where left out', list)
    .option('--scope <name>', "whose cached answers it may get; the tenant's own where left out")
    .option('--per-second <pictures>', "instead of the tier's", Number)
    .option('--burst <pictures>', "instead of the tier's", Number)
    .option('--per-day <pictures>', "instead of the tier's", Number)
    .option('--at-once <requests>', "instead of the tier's", Number)
    .addOption(new Option('--expires <when>', 'such as 2027-06-30 or 90d').argParser(momentOf))
    .option('--label <text>', 'for people', '')
    .action(create);
  keys.command('list').description('lists keys, never their secrets').action(listKeys);
  keys.command('revoke <id>').description('ends a key; edges notice within 2 seconds').action(revoke);
}

async function create(options: CreateOptions): Promise<void> {
  const { label, expires: expiresAt } = options;
  const grant = grantOf(options);
  const key = await connected((client) => createApiKey(client, { grant, label, expiresAt }));
  console.error(`a key of tenant ${grant.tenant}, shown this once:`);
  console.log(key);
}

/** @throws Error naming the option that is wrong */
function grantOf({ tenant, tier, permissions, models, scope, perSecond, burst, perDay, atOnce }: CreateOptions): Grant {
  const given = Object.entries({ perSecond, burst, perDay, atOnce }).filter(([, value]) => value !== undefined);
  const limits = given.length === 0 ? undefined : Object.fromEntries(given);
  const parsed = grantSchema.safeParse({ tenant, tier, permissions, models, scope, limits });
  if (parsed.success) return parsed.data;
  throw new Error(z.prettifyError(parsed.error));
}

async function listKeys(): Promise<void> {
  const keys = await connected(listApiKeys);
  console.log(
    drawTable(
      columns,
      [...keys].map(([id, key]) => rowOf(id, key)),
    ),
  );
}

const columns = ['id', 'tenant', 'tier', 'permissions', 'models', 'made', 'expires', 'label'];

function rowOf(id: string, { grant, createdAt, expiresAt, label }: ApiKey): readonly string[] {
  const { tenant, tier, permissions, models } = grant;
  const expires = expiresAt === undefined ? 'never' : dateOf(expiresAt);
  return [id, tenant, tier, permissions.join(','), models?.join(',') ?? 'all', dateOf(createdAt), expires, label];
}

async function revoke(id: string): Promise<void> {
  if (!(await connected((client) => revokeApiKey(client, id)))) throw new Error(`there is no key ${id}`);
  console.log(`${id} is revoked`);
}

function list(text: string): readonly string[] {
  return text.split(',').map((one) => one.trim());
}

function dateOf(epochMs: number): string {
  return new Date(epochMs).toISOString().slice(0, 16).replace('T', ' ');
}

const unitMs = { d: 86_400_000, h: 3_600_000, m: 60_000 } as const;

/** A date, or a time from now such as 90d, 12h or 30m; milliseconds since the epoch. */
function momentOf(text: string): number {
  const [, count, unit] = /^(\d{1,6})([dhm])$/.exec(text) ?? [];
  if (count !== undefined && (unit === 'd' || unit === 'h' || unit === 'm')) {
    return Date.now() + Number(count) * unitMs[unit];
  }
  const at = /^\d{4}-\d{2}-\d{2}(T|$)/.test(text) ? Date.parse(text) : Number.NaN;
  if (Number.isNaN(at)) throw new InvalidArgumentError('expected a date such as 2027-06-30, or 90d, 12h, 30m');
  if (at <= Date.now()) throw new InvalidArgumentError('expected a time to come');
  return at;
}
