/** The shipped backend with a device that costs nothing, so that only the crossing is measured. */
import { pino } from 'pino';
import { createLogger } from '../../../infra/process/logger.js';
import { loadConfig } from '../../../backend/config.js';
import { openModels } from '../../../backend/model/served-models.js';
import { startProcess } from '../../../backend/process.js';
import { obey } from './messages.js';

const config = loadConfig(process.env);
const log =
  config.logLevel === 'silent' ? pino({ level: 'silent' }) : createLogger({ level: config.logLevel, name: 'backend' });
const served = await openModels(config);
const running = await startProcess({ config, served, log, env: process.env });
obey(undefined, async () => {
  await running.stop();
});
