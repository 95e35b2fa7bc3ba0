// `npm run ops -- …`: what operators do to a running system, by way of its Redis.
import { Command } from 'commander';
import { addCacheCommands } from './cache.js';
import { addDeadLetterCommands } from './dead.js';
import { addKeyCommands } from './keys.js';
import { addStatusCommand } from './status.js';
import { addTraceCommand } from './trace.js';
import { addUsageCommand } from './usage.js';

const program = new Command('ops')
  .description('Looks after a running Sampan. REDIS_URL names its stream role, CACHE_REDIS_URL its cache role.')
  .showHelpAfterError();
addKeyCommands(program);
addUsageCommand(program);
addCacheCommands(program);
addStatusCommand(program);
addDeadLetterCommands(program);
addTraceCommand(program);
try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
