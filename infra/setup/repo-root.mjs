import { fileURLToPath } from 'node:url';

/** The folder that holds package.json, without a trailing slash. */
export const repoRoot = fileURLToPath(new URL('../..', import.meta.url)).replace(/[\\/]$/, '');
