import { fileURLToPath } from 'node:url';
import { createLogger } from '../infra/process/logger.js';
import { childEnvironments, loadSupervisorConfig, type SupervisorConfig } from './supervise/config.js';
import { exitCodes } from './supervise/exit-codes.js';
import { supervise } from './supervise/supervise.js';

await main();

/** Runs a backend per device, and starts again whichever ends. */
async function main(): Promise<void> {
  const config = readConfig();
  const supervision = supervise({
    script: fileURLToPath(new URL('main.js', import.meta.url)),
    environments: childEnvironments(process.env, config),
    log: createLogger({ level: config.SAMPAN_LOG_LEVEL, name: 'supervisor' }),
    random: Math.random,
  });
  process.on('SIGTERM', supervision.passOn);
  process.on('SIGINT', supervision.passOn);
  process.exit(await supervision.ended);
}

function readConfig(): SupervisorConfig {
  try {
    return loadSupervisorConfig(process.env);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(exitCodes.cannotStart);
  }
}
