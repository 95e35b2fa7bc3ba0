import { spawn } from 'node:child_process';
import { existsSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { repoRoot } from './repo-root.mjs';

const lockFile = join(repoRoot, 'package-lock.json');
const installedLockFile = join(repoRoot, 'node_modules', '.package-lock.json');

/**
 * Installs the packages of the lock file where they are missing or older than it.
 * @param {(detail: string) => void} say
 * @returns {Promise<void>}
 * @throws {Error} with npm's last lines
 */
export async function ensurePackages(say) {
  if (arePackagesThere()) return say('all there');
  say('npm is installing what the lock file names');
  await installPackages();
  say(`${packageCount()} installed`);
}

/** npm writes its own lock file last, so one that is not older than ours tells of a complete installation. */
export function arePackagesThere() {
  return existsSync(installedLockFile) && statSync(installedLockFile).mtimeMs >= statSync(lockFile).mtimeMs;
}

function packageCount() {
  const { packages } = JSON.parse(readFileSync(installedLockFile, 'utf8'));
  return Object.keys(packages).length;
}

/** @returns {Promise<void>} */
function installPackages() {
  // Within `npm start` npm names its own script, which spares a search in PATH.
  const npm = process.env['npm_execpath'];
  const [command, ...first] = npm?.endsWith('.js') ? [process.execPath, npm] : ['npm'];
  const args = [...first, 'ci', '--include=dev', '--no-audit', '--no-fund', '--loglevel=error'];
  return new Promise((resolve, reject) => {
    const child = spawn(command, args, { cwd: repoRoot, stdio: ['ignore', 'pipe', 'pipe'] });
    const passOn = () => {
      child.kill('SIGTERM');
      process.exit(1);
    };
    process.once('SIGTERM', passOn);
    let output = '';
    const keepTail = (/** @type {Buffer} */ chunk) => (output = (output + chunk.toString()).slice(-4_000));
    child.stdout.on('data', keepTail);
    child.stderr.on('data', keepTail);
    child.once('error', (error) => reject(new Error(`npm could not be started: ${error.message}`)));
    child.once('close', (code) => {
      process.off('SIGTERM', passOn);
      if (code === 0) resolve();
      else reject(new Error(`npm ci failed (exit status ${code}):\n${output.trimEnd()}`));
    });
  });
}
