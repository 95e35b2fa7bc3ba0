// `npm run ops -- …`: what operators do to a running system, by way of its Redis.
import { Command } from 'commander';
import { addKeyCommands } from './keys.js';
import { addUsageCommand } from './usage.js';

const program = new Command('ops')
  .description('Looks after a running Sampan. REDIS_URL names its stream role.')
  .showHelpAfterError();
addKeyCommands(program);
addUsageCommand(program);
try {
  await program.parseAsync();
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}
