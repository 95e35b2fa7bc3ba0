import { createHash, randomUUID } from 'node:crypto';
import { mkdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { modelManifestSchema } from '../../contracts/model.js';
import { cocoRecipe } from './recipes/coco.js';
import { nsfwRecipe } from './recipes/nsfw.js';
import type { Recipe } from './recipes/recipe.js';

export interface Prepared {
  readonly name: string;
  readonly version: string;
  /** The folder that holds model.onnx and manifest.json. */
  readonly folder: string;
  /** False where both were there already, as the recipe wants them. */
  readonly written: boolean;
  /** Size of model.onnx. */
  readonly bytes: number;
}

/** Every model that can be prepared. */
const recipes: readonly Recipe[] = [nsfwRecipe, cocoRecipe];

/** Prepares every model in `modelDir`, telling of each as it is done. */
export async function prepareModels(
  modelDir: string,
  onPrepared: (model: Prepared) => void = () => undefined,
): Promise<void> {
  for (const recipe of recipes) onPrepared(await prepareModel(recipe, modelDir));
}

/**
 * Puts one model into `modelDir/<name>/<version>/`, unless it is there already. Files appear under their names only when
 * they are complete, the manifest last, so that a reader never finds half a model.
 */
export async function prepareModel(recipe: Recipe, modelDir: string): Promise<Prepared> {
  const { name, version } = recipe.manifest;
  const folder = join(modelDir, name, version);
  const present = await presentModel(recipe, folder);
  if (present !== undefined) return { name, version, folder, written: false, bytes: present.length };
  const model = recipe.build();
  const manifest = modelManifestSchema.parse({ ...recipe.manifest, sha256: sha256(model) });
  await mkdir(folder, { recursive: true });
  await writeWhole(join(folder, 'model.onnx'), model);
  await writeWhole(join(folder, 'manifest.json'), `${JSON.stringify(manifest, null, 2)}\n`);
  return { name, version, folder, written: true, bytes: model.length };
}

/** The model's bytes, if its manifest is what the recipe says and its hash is what the manifest says. */
async function presentModel(recipe: Recipe, folder: string): Promise<Buffer | undefined> {
  const text = await unlessMissing(readFile(join(folder, 'manifest.json'), 'utf8'));
  const model = await unlessMissing(readFile(join(folder, 'model.onnx')));
  if (text === undefined || model === undefined) return undefined;
  const wanted = modelManifestSchema.parse({ ...recipe.manifest, sha256: sha256(model) });
  return isDeepStrictEqual(parsed(text), wanted) ? model : undefined;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

async function unlessMissing<T>(reading: Promise<T>): Promise<T | undefined> {
  try {
    return await reading;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'ENOENT') return undefined;
    throw error;
  }
}

async function writeWhole(path: string, content: Uint8Array | string): Promise<void> {
  const draft = `${path}.${randomUUID()}.part`;
  try {
    await writeFile(draft, content);
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

function sha256(bytes: Uint8Array): string {
  return createHash('sha256').update(bytes).digest('hex');
}
