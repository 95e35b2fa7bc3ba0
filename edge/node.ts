import type { Logger } from 'pino';
import { growHeapFreely } from '../infra/process/heap.js';
import { createLogger } from '../infra/process/logger.js';
import { publicConfig } from '../infra/process/public-config.js';
import { loadConfig, type EdgeConfig } from './config.js';
import { startEdge } from './node-server.js';

/** Exit codes of an edge, for whoever restarts it. */
const exitCodes = { stopped: 0, cannotStart: 1, drainedTooLate: 4 } as const;

growHeapFreely();
await main();

async function main(): Promise<void> {
  const config = readConfig();
  const log = createLogger({ level: config.logLevel, name: 'edge' });
  try {
    await serveUntilTold(config, log);
  } catch (error) {
    log.fatal({ err: error }, 'the edge does not start');
    process.exit(exitCodes.cannotStart);
  }
}

function readConfig(): EdgeConfig {
  try {
    return loadConfig(process.env);
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exit(exitCodes.cannotStart);
  }
}

async function serveUntilTold(config: EdgeConfig, log: Logger): Promise<void> {
  const edge = await startEdge(config, log, process.env);
  log.info({ url: edge.url, metrics: edge.metricsUrl, config: publicConfig(config) }, 'listening');
  let stopping = false;
  const stop = (signal: NodeJS.Signals) => {
    if (stopping) return;
    stopping = true;
    log.info({ signal }, 'finishing what is in flight');
    edge.close().then(
      (inTime) => process.exit(inTime ? exitCodes.stopped : exitCodes.drainedTooLate),
      (error: unknown) => {
        log.error({ err: error }, 'stopping failed');
        process.exit(exitCodes.drainedTooLate);
      },
    );
  };
  process.on('SIGTERM', stop);
  process.on('SIGINT', stop);
}
