import type { Command } from 'commander';
import { purgeCached, type CachedWhich } from '../../contracts/cache-purge.js';
import { connectedToCache } from './connected.js';

/** `ops cache purge`. */
export function addCacheCommands(program: Command): void {
  program
    .command('cache')
    .description('cached answers')
    .command('purge')
    .description('removes cached answers that have all that is named; callers may keep what they were given')
    .option('--model <name>')
    .option('--version <version>')
    .option('--md5 <digest>', 'of the picture, 32 hexadecimal digits')
    .option('--scope <scope>', "a tenant's, or one that keys name, with ~ before it")
    .option('--all', 'all of them')
    .action(purge);
}

async function purge({ all = false, ...which }: CachedWhich & { readonly all?: boolean }): Promise<void> {
  if (!all && Object.keys(which).length === 0) {
    throw new Error('say which: --model, --version, --md5, --scope, or --all');
  }
  const { removed, server } = await connectedToCache(async (cache) => {
    const { host = '', port = '' } = cache.options;
    return { removed: await purgeCached(cache, which), server: `${host}:${String(port)}` };
  });
  console.log(`${String(removed)} cached answers are removed at ${server}`);
}
