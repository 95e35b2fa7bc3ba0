import type { Logger } from 'pino';
import { createLogger } from '../infra/process/logger.js';
import { loadConfig, type BackendConfig } from './config.js';
import { openModels } from './model/served-models.js';
import { startProcess } from './process.js';
import { RunLimitError } from './run-limit.js';

/** Exit codes of a backend, for whoever restarts it. */
const exitCodes = { stopped: 0, cannotStart: 1, deviceLost: 3, drainedTooLate: 4 } as const;

await main();

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLogger({ level: config.logLevel, name: 'backend' });
  try {
    await serveUntilTold(config, log);
  } catch (error) {
    log.fatal({ err: error }, 'the backend does not start');
    process.exitCode = exitCodes.cannotStart;
    // Half-opened connections would keep the process alive.
    process.exit();
  }
}

function readConfig(): BackendConfig {
  try {
    return loadConfig(process.env);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(exitCodes.cannotStart);
  }
}

async function serveUntilTold(config: BackendConfig, log: Logger): Promise<void> {
  const served = await openModels(config);
  const running = await startProcess({ config, served, log, env: process.env });
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal, held: running.held() }, 'draining');
    running.stop().then(
      (inTime) => process.exit(inTime ? exitCodes.stopped : exitCodes.drainedTooLate),
      (error: unknown) => {
        log.error({ err: error }, 'draining failed');
        process.exit(exitCodes.drainedTooLate);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
  void running.failed.then((error) => {
    if (error instanceof RunLimitError) dieInMidRun(error, log);
    if (stopping || error instanceof RunLimitError) return;
    log.fatal({ err: error }, 'the device is lost, or the consumer cannot go on');
    process.exit(exitCodes.deviceLost);
  });
}

/** Milliseconds that the log has to be written. */
const lastWordsMs = 500;

/** A run cannot be interrupted, and leaving by exit() while one goes on ends in an abort: only a signal ends it cleanly. */
function dieInMidRun(error: RunLimitError, log: Logger): void {
  log.fatal({ err: error }, 'a run went past its limit; this process ends');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), lastWordsMs);
}
