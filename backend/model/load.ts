import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import * as z from 'zod';
import { modelManifestSchema, modelNameSchema, modelVersionSchema, type ModelManifest } from '../../contracts/model.js';
import type { Model } from './model.js';
import { onnxModel } from './onnx-model.js';
import type { Device, Session } from './session.js';
import type { Port } from './session-messages.js';

/** A model that lies in the model folder. */
export interface FoundModel {
  readonly name: string;
  readonly version: string;
}

/** What an image may have at most where the caller sets no limit. */
const defaultPixelLimit = 100_000_000;

/**
 * Loads `modelDir/<name>/<version>/` onto a device, after checking that the manifest can be read, that it is about this
 * model, that the graph is the one it was written for, and that the graph has the inputs and outputs it names.
 * @throws Error that says which of these does not hold, or why the device cannot run it
 */
export async function loadModel(
  device: Device,
  modelDir: string,
  name: string,
  version: string,
  { limitInputPixels = defaultPixelLimit }: { readonly limitInputPixels?: number } = {},
): Promise<Model> {
  const folder = join(modelDir, name, version);
  const manifest = await readManifest(folder, name, version);
  const session = await device.openSession(await readGraph(folder, manifest));
  try {
    expectSameInterface(folder, manifest, session);
    return onnxModel(session, device.kind, manifest, limitInputPixels);
  } catch (error) {
    await session.release();
    throw error;
  }
}

/**
 * The models in a folder, each with its newest version (numbers within versions compare as numbers).
 * @param names only these, and all of them
 * @throws Error if the folder cannot be read or a wanted model is not in it
 */
export async function findModels(modelDir: string, names?: readonly string[]): Promise<FoundModel[]> {
  const present = await subfolders(modelDir, (name) => modelNameSchema.safeParse(name).success);
  const missing = names?.filter((name) => !present.includes(name)) ?? [];
  if (missing.length > 0)
    throw new Error(`no model ${missing.join(', ')} in ${modelDir}; there are: ${present.join(', ') || 'none'}`);
  const found: FoundModel[] = [];
  for (const name of names ?? present) {
    const versions = await subfolders(join(modelDir, name), (version) => modelVersionSchema.safeParse(version).success);
    const version = versions.sort((one, other) => one.localeCompare(other, 'en', { numeric: true })).at(-1);
    if (version !== undefined) found.push({ name, version });
    else if (names !== undefined) throw new Error(`model ${name} has no version in ${modelDir}`);
  }
  return found;
}

async function subfolders(folder: string, wanted: (name: string) => boolean): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch((cause: unknown) => {
    throw new Error(`the model folder ${folder} (MODEL_DIR) cannot be read; npm run models prepares one`, { cause });
  });
  return entries
    .filter((entry) => !entry.isFile() && wanted(entry.name))
    .map((entry) => entry.name)
    .sort();
}

async function readManifest(folder: string, name: string, version: string): Promise<ModelManifest> {
  const path = join(folder, 'manifest.json');
  const parsed = modelManifestSchema.safeParse(parseJson(path, await readFile(path, 'utf8')));
  if (!parsed.success) throw new Error(`${path} is not a manifest:\n${z.prettifyError(parsed.error)}`);
  const manifest = parsed.data;
  if (manifest.name !== name || manifest.version !== version) {
    throw new Error(`${path} is about ${manifest.name} ${manifest.version}, its folder about ${name} ${version}`);
  }
  return manifest;
}

function parseJson(path: string, text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`${path} is not JSON`, { cause });
  }
}

async function readGraph(folder: string, manifest: ModelManifest): Promise<Uint8Array<ArrayBuffer>> {
  const path = join(folder, 'model.onnx');
  const file = await readFile(path);
  const hash = createHash('sha256').update(file).digest('hex');
  if (hash !== manifest.sha256)
    throw new Error(`${path} has the SHA-256 ${hash}, its manifest says ${manifest.sha256}`);
  // A buffer of its own, since it will be transferred.
  return Uint8Array.from(file);
}

/** Compares what the manifest says with what the loaded graph really has. */
function expectSameInterface(folder: string, { input, outputs }: ModelManifest, session: Session): void {
  const batch = 'any';
  expectSame(folder, 'input', session.inputs, [
    { name: input.name, type: 'uint8', dims: [batch, input.height, input.width, 3] },
  ]);
  expectSame(
    folder,
    'output',
    session.outputs,
    outputs.map(({ name, shape }) => ({ name, type: 'float32', dims: [batch, ...shape] })),
  );
}

function expectSame(folder: string, kind: string, real: readonly Port[], stated: readonly Port[]): void {
  const realOnes = real.map(describePort).sort();
  const statedOnes = stated.map(describePort).sort();
  const onlyReal = realOnes.filter((port) => !statedOnes.includes(port));
  const onlyStated = statedOnes.filter((port) => !realOnes.includes(port));
  if (onlyReal.length + onlyStated.length === 0) return;
  throw new Error(
    `${folder}: the manifest does not match the graph: ${kind} ${onlyStated.join(', ') || 'nothing'} in the manifest, ` +
      `${onlyReal.join(', ') || 'nothing'} in the graph`,
  );
}

/** A dimension without a fixed size, which only the batch may be, reads as `any`. */
function describePort({ name, type, dims }: Port): string {
  return `${name} ${type} [${dims.map((size) => (typeof size === 'number' ? String(size) : 'any')).join()}]`;
}
