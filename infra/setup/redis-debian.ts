import { execFile } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
// The program itself lies in redis-tools, under the name redis-check-rdb: it is a server when called redis-server.
// The package redis-server would add no more than that name and a system service, which nobody asked for.
const packageName = 'redis-tools';
const programPath = 'usr/bin/redis-check-rdb';

/** Where a server that came from Debian's packages can be started. */
export function unpackedRedis(cacheDir: string): string {
  return join(cacheDir, 'redis-server');
}

/**
 * Fetches Redis from Debian's packages: root installs it, others download and unpack it into the cache folder.
 * Either way `unpackedRedis(cacheDir)` can be started afterwards, and no service runs.
 * @throws Error saying what did not work
 */
export async function debianRedis(cacheDir: string, say: (what: string) => void): Promise<void> {
  if (!existsSync('/usr/bin/apt-get')) throw new Error('this is not a Debian or Ubuntu system');
  mkdirSync(cacheDir, { recursive: true });
  if (process.getuid?.() === 0) await install(cacheDir, say);
  else await unpack(cacheDir, say);
}

async function install(cacheDir: string, say: (what: string) => void): Promise<void> {
  say('installing Redis from Debian’s packages');
  await apt([], ['update']);
  await apt([], ['install', '-y', '--no-install-recommends', packageName]);
  rmSync(unpackedRedis(cacheDir), { force: true });
  symlinkSync(join('/', programPath), unpackedRedis(cacheDir));
}

/** apt resolves what is missing here (the package and its libraries), with lists and archives of our own. */
async function unpack(cacheDir: string, say: (what: string) => void): Promise<void> {
  say('downloading Redis from Debian’s packages (not root: unpacked, not installed)');
  const own = join(cacheDir, 'apt');
  const root = join(cacheDir, 'root');
  const part = `${root}.part`;
  for (const folder of ['lists/partial', 'archives/partial']) mkdirSync(join(own, folder), { recursive: true });
  const settings = {
    'Dir::State::lists': join(own, 'lists'),
    'Dir::Cache': own,
    'Dir::Cache::archives': join(own, 'archives'),
    // Nothing outside our folders is written, so the system's locks are not needed.
    'Debug::NoLocking': '1',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await apt(options, ['update']);
  await apt(options, ['install', '-y', '--no-install-recommends', '--download-only', packageName]);
  rmSync(part, { recursive: true, force: true });
  const archives = readdirSync(join(own, 'archives')).filter((name) => name.endsWith('.deb'));
  for (const archive of archives) await run('dpkg-deb', ['-x', join(own, 'archives', archive), part]);
  rmSync(root, { recursive: true, force: true });
  renameSync(part, root);
  rmSync(own, { recursive: true, force: true });
  writeLauncher(cacheDir, root);
}

/** A script, so that a path alone starts the server with its libraries; `exec` keeps the process id. */
function writeLauncher(cacheDir: string, root: string): void {
  const program = join(root, 'redis-server');
  rmSync(program, { force: true });
  symlinkSync(programPath, program);
  const libraries = ['lib', 'usr/lib']
    .map((folder) => join(root, folder))
    .filter((folder) => existsSync(folder))
    .flatMap((folder) => readdirSync(folder).map((name) => join(folder, name)))
    .join(':');
  const launcher = unpackedRedis(cacheDir);
  writeFileSync(launcher, `#!/bin/sh\nLD_LIBRARY_PATH='${quoted(libraries)}' exec '${quoted(program)}' "$@"\n`);
  chmodSync(launcher, 0o755);
}

/** For the inside of single quotes in a shell. */
function quoted(text: string): string {
  return text.replaceAll("'", String.raw`'\''`);
}

async function apt(options: readonly string[], verb: readonly string[]): Promise<void> {
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive', LC_ALL: 'C' };
  try {
    await run('apt-get', ['-q', ...options, ...verb], { env, timeout: 300_000, maxBuffer: 16 * 1024 * 1024 });
  } catch (error) {
    throw new Error(`apt-get ${verb.join(' ')} failed: ${lastWords(error)}`, { cause: error });
  }
}

function lastWords(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const output = 'stderr' in error && typeof error.stderr === 'string' ? error.stderr.trim() : '';
  return (output || error.message).split('\n').slice(-4).join(' / ');
}
