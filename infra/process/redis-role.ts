import type { Redis } from 'ioredis';

/** What a server says of itself, as far as start-up cares. */
export interface ServerFacts {
  /** The version of Redis it is, or is compatible with. */
  readonly version: string;
  /** Undefined where the server keeps it to itself. */
  readonly evictionPolicy: string | undefined;
  /** Different for every server process. */
  readonly runId: string;
}

const leastMajor = 7;

/**
 * Makes sure that a server can play the stream role.
 * @throws Error for operators: too old, or a policy under which Redis would drop tasks to make room
 */
export async function checkStreamRole(client: Redis): Promise<ServerFacts> {
  const facts = await askFacts(client);
  if (!(Number.parseInt(facts.version, 10) >= leastMajor)) {
    throw new Error(`REDIS_URL leads to Redis ${facts.version}; version ${leastMajor}.0 or later is needed`);
  }
  const policy = facts.evictionPolicy;
  if (policy !== undefined && policy !== 'noeviction') {
    throw new Error(
      `the server of REDIS_URL has maxmemory-policy ${policy}, under which Redis drops tasks and results when memory is short; set it to noeviction, and give cached answers a server of their own through CACHE_REDIS_URL`,
    );
  }
  return facts;
}

/** Says whether one server plays both roles; false also where the cache cannot be asked, since it may be away. */
export async function sameServer(stream: Redis, cache: Redis): Promise<boolean> {
  const [streamFacts, cacheFacts] = await Promise.all([askFacts(stream), askFacts(cache).catch(() => undefined)]);
  return streamFacts.runId === cacheFacts?.runId;
}

/** @throws Error where the server does not answer INFO, or not in a form that is known */
async function askFacts(client: Redis): Promise<ServerFacts> {
  const [server, memory] = await Promise.all([client.info('server'), client.info('memory')]);
  const version = infoField(server, 'redis_version');
  const runId = infoField(server, 'run_id');
  if (version === undefined || runId === undefined) throw new Error('the server does not tell its version and run id');
  return { version, runId, evictionPolicy: infoField(memory, 'maxmemory_policy') ?? (await configuredPolicy(client)) };
}

/** Some managed servers leave the policy out of INFO, others forbid CONFIG. */
async function configuredPolicy(client: Redis): Promise<string | undefined> {
  const reply: unknown = await client.config('GET', 'maxmemory-policy').catch(() => undefined);
  const policy: unknown = Array.isArray(reply) ? reply[1] : undefined;
  return typeof policy === 'string' ? policy : undefined;
}

function infoField(info: string, name: string): string | undefined {
  return new RegExp(`^${name}:(.*?)\\r?$`, 'm').exec(info)?.[1];
}
