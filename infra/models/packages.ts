import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import * as z from 'zod';

const require = createRequire(import.meta.url);
const packageSchema = z.object({ name: z.string(), version: z.string() });

/** The path of a file inside an installed package. @throws Error if the package is not installed */
export function packageFile(specifier: string): string {
  return require.resolve(specifier);
}

/** What a CommonJS file exports. */
export function packageModule(path: string): unknown {
  return require(path);
}

/** The version of the installed package that a module specifier leads into. */
export function packageVersion(packageName: string, specifier: string): string {
  let folder = dirname(packageFile(specifier));
  // Not every package lets its package.json be resolved, so it is looked for upwards.
  for (;;) {
    const found = readPackage(join(folder, 'package.json'));
    if (found?.name === packageName) return found.version;
    const parent = dirname(folder);
    if (parent === folder) throw new Error(`the package.json of ${packageName} was not found`);
    folder = parent;
  }
}

function readPackage(path: string): z.infer<typeof packageSchema> | undefined {
  try {
    return packageSchema.safeParse(JSON.parse(readFileSync(path, 'utf8'))).data;
  } catch {
    return undefined;
  }
}
