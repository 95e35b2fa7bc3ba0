import type { Logger } from 'pino';
import { growHeapFreely } from '../infra/process/heap.js';
import { createLogger } from '../infra/process/logger.js';
import { loadConfig, type BackendConfig } from './config.js';
import { openModels } from './model/served-models.js';
import { faultOf } from './fault.js';
import { startProcess } from './process.js';
import { RunLimitError } from './run-limit.js';
import { exitCodes } from './supervise/exit-codes.js';
import { tieToSupervisor, type SupervisorTie } from './supervise/tie.js';

growHeapFreely();
await main();

async function main(): Promise<void> {
  const config = readConfig();
  const tie = tieToSupervisor();
  const log = createLogger({ level: config.logLevel, name: 'backend' });
  try {
    await serveUntilTold(config, log, tie);
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

async function serveUntilTold(config: BackendConfig, log: Logger, tie: SupervisorTie): Promise<void> {
  const served = await openModels(config);
  const running = await startProcess({ config, served, log, env: process.env });
  tie.started();
  let stopping = false;
  const stop = (why: NodeJS.Signals | 'memory', code: number) => {
    if (stopping) return;
    stopping = true;
    log.info({ why, held: running.held() }, 'draining');
    running.stop().then(
      (inTime) => process.exit(inTime ? code : exitCodes.drainedTooLate),
      (error: unknown) => {
        log.error({ err: error }, 'draining failed');
        process.exit(exitCodes.drainedTooLate);
      },
    );
  };
  for (const signal of ['SIGTERM', 'SIGINT'] as const) process.on(signal, () => stop(signal, exitCodes.stopped));
  void running.outOfMemory.then(() => stop('memory', exitCodes.memoryFull));
  void running.failed.then((error) => {
    if (error instanceof RunLimitError) dieInMidRun(error, log);
    if (stopping || error instanceof RunLimitError) return;
    const isLost = faultOf(error) === 'device';
    log.fatal({ err: error }, isLost ? 'the device is lost' : 'the consumer cannot go on');
    process.exit(isLost ? exitCodes.deviceLost : exitCodes.cannotGoOn);
  });
}

/** Milliseconds that the log has to be written. */
const lastWordsMs = 500;

/** A run cannot be interrupted, and leaving by exit() while one goes on ends in an abort: only a signal ends it cleanly. */
function dieInMidRun(error: RunLimitError, log: Logger): void {
  log.fatal({ err: error }, 'a run went past its limit; this process ends');
  setTimeout(() => process.kill(process.pid, 'SIGKILL'), lastWordsMs);
}
