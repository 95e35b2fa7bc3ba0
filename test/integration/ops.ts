import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';

const main = fileURLToPath(new URL('../../infra/ops/main.js', import.meta.url));

export interface OpsRun {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** Runs `npm run ops -- …` and answers how it ended. */
export function runOps(env: Readonly<Record<string, string>>, ...words: readonly string[]): Promise<OpsRun> {
  return new Promise((resolve) => {
    execFile(process.execPath, [main, ...words], { env: { ...process.env, ...env } }, (error, out, err) => {
      resolve({ code: error ? Number(error.code) : 0, out: out.trim(), err: err.trim() });
    });
  });
}
