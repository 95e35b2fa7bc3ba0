import { resolve } from 'node:path';
import { prepareModels } from '../infra/models/prepare.js';

/** The folder of prepared models that tests share: MODEL_DIR, else `.models` under the current folder; made if need be. */
export async function preparedModels(): Promise<string> {
  const modelDir = resolve(process.env['MODEL_DIR'] ?? '.models');
  await prepareModels(modelDir);
  return modelDir;
}
