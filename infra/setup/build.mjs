// `npm run build`: embeds the Lua scripts as a module, then compiles everything into dist. Cheap when nothing changed.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, readFileSync, readdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { isEntry } from './is-entry.mjs';
import { repoRoot } from './repo-root.mjs';

const scriptsDir = join(repoRoot, 'contracts', 'scripts');
const embeddedFile = join(scriptsDir, 'sources.generated.ts');
const compiler = join(repoRoot, 'node_modules', 'typescript', 'bin', 'tsc');

/**
 * Builds the project into dist.
 * @returns {Promise<void>}
 * @throws {Error} with the compiler's findings
 */
export async function build() {
  embedScripts();
  removeOrphans();
  await compile();
  await bundleEdge();
}

/** What libraries in the older form of modules find around them. */
const olderModules = [
  "import { createRequire } from 'node:module';",
  "import { fileURLToPath as pathOfUrl } from 'node:url';",
  'const require = createRequire(import.meta.url);',
  "const __filename = pathOfUrl(import.meta.url), __dirname = pathOfUrl(new URL('.', import.meta.url));",
].join('\n');

/**
 * Makes one file of the edge and its libraries, dist/edge.mjs: reading a thousand small ones is most of what a start
 * takes. It is not minified: that would gain nothing measurable, and stack traces can be read as it is.
 */
async function bundleEdge() {
  const { build: bundle } = await import('esbuild');
  // Renamed when it is whole: an edge may start meanwhile.
  const whole = join(repoRoot, 'dist', `edge.${process.pid}.mjs`);
  await bundle({
    entryPoints: [join(repoRoot, 'dist', 'edge', 'node.js')],
    outfile: whole,
    ...{ bundle: true, platform: 'node', format: 'esm', target: 'node20', logLevel: 'error' },
    banner: { js: olderModules },
  });
  renameSync(whole, join(repoRoot, 'dist', 'edge.mjs'));
}

/**
 * Writes contracts/scripts/*.lua as one TypeScript module, `scriptSources`, keyed by file name in camel case.
 * The file is left alone when its text would be the same, so that the compiler has nothing to do.
 * @returns {boolean} whether the file was written
 */
export function embedScripts() {
  const names = existsSync(scriptsDir) ? readdirSync(scriptsDir).filter((name) => name.endsWith('.lua')) : [];
  const text = embeddedText(
    names.sort().map((name) => [basename(name, '.lua'), readFileSync(join(scriptsDir, name), 'utf8')]),
  );
  if (existsSync(embeddedFile) && readFileSync(embeddedFile, 'utf8') === text) return false;
  mkdirSync(scriptsDir, { recursive: true });
  writeFileSync(embeddedFile, text);
  return true;
}

/** @param {ReadonlyArray<readonly [name: string, source: string]>} scripts */
function embeddedText(scripts) {
  const lines = scripts.map(([name, source]) => `  ${camelCase(name)}: ${JSON.stringify(source)},`);
  return [
    '// Written by infra/setup/build.mjs from the .lua files beside it; edit those.',
    'export const scriptSources = {',
    ...lines,
    '} as const;',
    '',
  ].join('\n');
}

/** @param {string} name */
function camelCase(name) {
  return name.replace(/-([a-z])/g, (_, letter) => letter.toUpperCase());
}

/**
 * The compiler leaves the output of deleted sources behind, and a deleted test would go on running from there:
 * when the set of sources changes, what has no source any more is removed.
 */
function removeOrphans() {
  const dist = join(repoRoot, 'dist');
  const stamp = join(dist, '.sources');
  const sources = ['contracts', 'edge', 'backend', 'infra', 'test'].flatMap((folder) => filesUnder(folder, /\.ts$/));
  const digest = createHash('sha256').update(sources.sort().join('\n')).digest('hex');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === digest) return;
  const wanted = new Set(sources.map((source) => source.replace(/\.ts$/, '')));
  for (const output of filesUnder('dist', /\.(js|js\.map)$/)) {
    const stem = output.slice('dist/'.length).replace(/\.js(\.map)?$/, '');
    if (!wanted.has(stem)) rmSync(join(repoRoot, output));
  }
  mkdirSync(dist, { recursive: true });
  writeFileSync(stamp, digest);
}

/**
 * @param {string} folder relative to the repository root
 * @param {RegExp} pattern
 * @returns {string[]} paths relative to the repository root, with forward slashes
 */
function filesUnder(folder, pattern) {
  const start = join(repoRoot, folder);
  if (!existsSync(start)) return [];
  return readdirSync(start, { recursive: true, encoding: 'utf8' })
    .filter((path) => pattern.test(path))
    .map((path) => `${folder}/${path.replaceAll('\\', '/')}`);
}

/** @returns {Promise<void>} */
function compile() {
  const pretty = process.stdout.isTTY ? ['--pretty'] : [];
  return new Promise((resolve, reject) => {
    const args = [compiler, '-p', join(repoRoot, 'tsconfig.json'), ...pretty];
    const tsc = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'], cwd: repoRoot });
    let findings = '';
    tsc.stdout.on('data', (chunk) => (findings += chunk));
    tsc.once('error', reject);
    tsc.once('close', (code) => {
      if (code === 0) resolve();
      else reject(new Error(`the build failed:\n${findings.trimEnd()}`));
    });
  });
}

if (isEntry(import.meta.url)) {
  try {
    await build();
  } catch (error) {
    console.error(error instanceof Error ? error.message : error);
    process.exitCode = 1;
  }
}
