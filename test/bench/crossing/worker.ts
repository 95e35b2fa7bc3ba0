/** The shipped backend with a device that costs nothing, so that only the crossing is measured. */
import { pino } from 'pino';
import { createLogger } from '../../../infra/process/logger.js';
import { parseBackendConfig } from '../../../backend/config.js';
import { startProcess } from '../../../backend/process.js';
import { obey } from './messages.js';

const config = parseBackendConfig(process.env);
const log =
  config.logLevel === 'silent' ? pino({ level: 'silent' }) : createLogger({ level: config.logLevel, name: 'backend' });
const running = await startProcess(config, log, process.env);
obey(undefined, async () => {
  await running.stop();
});
