import { performance } from 'node:perf_hooks';
import { resolve } from 'node:path';
import { prepareModel } from './prepare.js';
import { cocoRecipe } from './recipes/coco.js';
import { nsfwRecipe } from './recipes/nsfw.js';

/** Prepares every model in MODEL_DIR (`.models` under the current folder by default), a line of progress each. */
async function main(modelDir: string): Promise<void> {
  for (const recipe of [nsfwRecipe, cocoRecipe]) {
    const { name, version } = recipe.manifest;
    const start = performance.now();
    const { folder, written, bytes } = await prepareModel(recipe, modelDir);
    const megabytes = (bytes / 1e6).toFixed(1);
    const seconds = ((performance.now() - start) / 1000).toFixed(1);
    console.log(
      `model ${name} ${version}: ${written ? `written in ${seconds} s` : 'already there'}, ${megabytes} MB, ${folder}`,
    );
  }
}

await main(resolve(process.env['MODEL_DIR'] ?? '.models'));
