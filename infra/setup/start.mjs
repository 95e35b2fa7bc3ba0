// `npm start`: what it takes to go from a fresh checkout to a photo that was looked at. Only what must come before the
// build is here; the rest is start.ts.
import { stopWithNpm } from './abandoned.mjs';
import { build } from './build.mjs';
import { ensurePackages } from './packages.mjs';
import * as terminal from './progress.mjs';
import { repoRoot } from './repo-root.mjs';

const { bold, dim, step } = terminal;

stopWithNpm();
try {
  console.log(`\n${bold('Sampan')}  ${dim('image inference, from the edge across the stream and back')}\n`);
  await step('Packages', ensurePackages);
  await step('Build', build);
  const { start } = await import(new URL('../../dist/infra/setup/start.js', import.meta.url).href);
  process.exitCode = await start({ root: repoRoot, env: process.env, terminal });
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
