import { resolve } from 'node:path';
import { prepareModels } from './prepare.js';

/** Prepares every model in MODEL_DIR (`.models` under the current folder by default), with a line of progress each. */
await prepareModels(resolve(process.env['MODEL_DIR'] ?? '.models'), ({ name, version, written, bytes, folder }) => {
  console.log(
    `model ${name} ${version}: ${written ? 'converted' : 'already there'}, ${(bytes / 1e6).toFixed(1)} MB in ${folder}`,
  );
});
