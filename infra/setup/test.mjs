// `npm test`, `npm run check`, `npm run test:long`: sets up what is missing, then checks. Words after `--` choose test
// files by a part of their path. What can wait for the build is in test-run.ts.
import { stopWithNpm } from './abandoned.mjs';
import { build } from './build.mjs';
import { ensurePackages } from './packages.mjs';
import { step } from './progress.mjs';
import { repoRoot } from './repo-root.mjs';

const words = process.argv.slice(2);
const extent = words.includes('--check') ? 'check' : words.includes('--long') ? 'long' : 'test';

stopWithNpm();
try {
  await step('Packages', ensurePackages);
  await step('Build', build);
  const { testRun } = await import(new URL('../../dist/infra/setup/test-run.js', import.meta.url).href);
  const only = words.filter((word) => !word.startsWith('--'));
  await testRun({ root: repoRoot, env: process.env, step, extent, only });
} catch (error) {
  console.error(`\n${error instanceof Error ? error.message : error}`);
  process.exitCode = 1;
}
