import { realpathSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/**
 * Says whether a module is the file that Node.js was started with, rather than one that was imported.
 * @param {string} moduleUrl the module's own import.meta.url
 */
export function isEntry(moduleUrl) {
  const started = process.argv[1];
  return started !== undefined && realpathSync(started) === fileURLToPath(moduleUrl);
}
