import { execFile } from 'node:child_process';
import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import { promisify } from 'node:util';
import { debianRedis, unpackedRedis } from './redis-debian.js';

const run = promisify(execFile);
const leastMajor = 7;

/** A server program that was found, and can be started by its path alone. */
export interface RedisServer {
  readonly binary: string;
  readonly product: 'Redis' | 'Valkey';
  readonly version: string;
}

/**
 * Finds a server program, or fetches one from Debian's packages.
 * @param cacheDir folder that may be filled with an unpacked server
 * @param say told in a few words what takes its time
 * @throws Error that tells people how to install one themselves
 */
export async function ensureRedisServer(cacheDir: string, say: (what: string) => void): Promise<RedisServer> {
  const found = await findRedisServer(process.env['PATH'], cacheDir);
  if (found) return found;
  const problem = await debianRedis(cacheDir, say).catch((error: unknown) => error);
  const fetched = await findRedisServer(process.env['PATH'], cacheDir);
  if (fetched) return fetched;
  throw new Error(howToInstall(problem));
}

/**
 * Looks for a server of version 7.0 or later.
 * @param path folders in the form of the environment's PATH; they come first
 * @param cacheDir where one may have been unpacked; it comes last
 * @param usual folders to look in as well
 */
export async function findRedisServer(
  path: string | undefined,
  cacheDir: string,
  usual: readonly string[] = ['/usr/bin', '/usr/local/bin', '/opt/homebrew/bin'],
): Promise<RedisServer | undefined> {
  const folders = [...(path ?? '').split(delimiter).filter(Boolean), ...usual];
  const named = folders.flatMap((folder) => [join(folder, 'redis-server'), join(folder, 'valkey-server')]);
  for (const binary of new Set([...named, unpackedRedis(cacheDir)])) {
    const server = isExecutable(binary) ? await askVersion(binary) : undefined;
    if (server) return server;
  }
  return undefined;
}

/** What a program says of itself; undefined where it does not run or is too old. */
export async function askVersion(binary: string): Promise<RedisServer | undefined> {
  try {
    const { stdout } = await run(binary, ['--version'], { timeout: 10_000 });
    const [, product, version, major] = /^(Redis|Valkey) server v=((\d+)\.[\d.]+)/.exec(stdout) ?? [];
    if (version === undefined || Number(major) < leastMajor) return undefined;
    return { binary, product: product === 'Valkey' ? 'Valkey' : 'Redis', version };
  } catch {
    return undefined;
  }
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

function howToInstall(problem: unknown): string {
  return [
    'A Redis or Valkey server of version 7.0 or later is needed, and none could be found or fetched.',
    ...(problem instanceof Error ? [`  what was tried: ${problem.message}`] : []),
    '  Debian, Ubuntu:  sudo apt-get install redis-server',
    '  macOS:           brew install redis',
    '  Docker:          docker run -d -p 6379:6379 redis:7, then REDIS_URL=redis://127.0.0.1:6379 npm start',
  ].join('\n');
}
