import { catalogueKey } from './keys.js';
import { modelManifestSchema, type ModelManifest } from './model.js';
import type { StreamClient } from './scripts/scripts.js';

const revisionField = '@revision';

/** The models that exist, by name: the manifest of each one's active version. */
export type Catalogue = ReadonlyMap<string, ModelManifest>;

/** Puts models into the catalogue and makes their versions the active ones. */
export async function publishModels(client: StreamClient, manifests: readonly ModelManifest[]): Promise<void> {
  const fields = manifests.flatMap((manifest): [string, string][] => [
    [`${manifest.name}@${manifest.version}`, JSON.stringify(manifest)],
    [manifest.name, manifest.version],
  ]);
  const change = client.multi().hset(catalogueKey, Object.fromEntries(fields)).hincrby(catalogueKey, revisionField, 1);
  for (const [error] of (await change.exec()) ?? []) if (error) throw error;
}

/** Puts models back that the catalogue has lost, as after a flush; touches nothing that is there. */
export async function keepPublished(client: StreamClient, manifests: readonly ModelManifest[]): Promise<void> {
  const known = await client.hmget(catalogueKey, ...manifests.map(({ name }) => name));
  const lost = manifests.filter((_, i) => known[i] === null);
  if (lost.length > 0) await publishModels(client, lost);
}

/** Counts the catalogue's changes, so that readers fetch it only when there is news; '' while there is none. */
export async function catalogueRevision(client: StreamClient): Promise<string> {
  return (await client.hget(catalogueKey, revisionField)) ?? '';
}

/** Reads the catalogue; a manifest in an unknown form is left out. */
export async function readCatalogue(client: StreamClient): Promise<Catalogue> {
  const fields = await client.hgetall(catalogueKey);
  const models = new Map<string, ModelManifest>();
  for (const [name, version] of Object.entries(fields)) {
    if (name.includes('@')) continue;
    const manifest = readManifest(fields[`${name}@${version}`]);
    if (manifest) models.set(name, manifest);
  }
  return models;
}

function readManifest(text: string | undefined): ModelManifest | undefined {
  if (text === undefined) return undefined;
  try {
    return modelManifestSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
