import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { leash } from './leash.js';

/**
 * Prepares the models of the converter in a folder; quick where they are there already.
 * @param root the repository
 * @param say told what the converter prints, line by line
 * @throws Error with the converter's last lines
 */
export function prepareModels(
  root: string,
  modelDir: string,
  env: NodeJS.ProcessEnv,
  say: (what: string) => void,
): Promise<void> {
  const converter = spawn(process.execPath, [join(root, 'dist', 'infra', 'models', 'main.js')], {
    cwd: root,
    env: { ...env, MODEL_DIR: modelDir },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const unleash = converter.pid === undefined ? () => undefined : leash(converter.pid);
  let output = '';
  const note = (chunk: Buffer) => {
    output = (output + chunk.toString()).slice(-4_000);
  };
  converter.stdout.on('data', (chunk: Buffer) => {
    note(chunk);
    const line = chunk.toString().trimEnd().split('\n').at(-1);
    if (line) say(line.trim());
  });
  converter.stderr.on('data', note);
  return new Promise((resolve, reject) => {
    converter.once('error', reject);
    converter.once('close', (code) => {
      unleash();
      if (code === 0) {
        say(`ready in ${modelDir}`);
        resolve();
      } else reject(new Error(`the models could not be prepared (exit status ${code}):\n${output.trimEnd()}`));
    });
  });
}
