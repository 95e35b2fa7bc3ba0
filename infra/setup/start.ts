import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bringUp, type Surroundings } from './bring-up.js';

type Started = Surroundings['started'];

/** Longer than a backend's drain may take. */
const stopLimitMs = 40_000;

/**
 * Sets up and starts a whole Sampan, shows it at work on a photo, and stays until it is told to stop.
 * @returns the exit status: 0 after Ctrl-C or SIGTERM, 1 when a part failed
 */
export async function start(options: Pick<Surroundings, 'root' | 'env' | 'terminal'>): Promise<number> {
  const runDir = mkdtempSync(join(tmpdir(), 'sampan-'));
  const started: Started = { redis: [], children: [] };
  const failure = await new Promise<string | undefined>((resolve) => {
    // Once told to stop, later signals change nothing.
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => resolve(undefined));
    bringUp({ ...options, runDir, started, ended: resolve }).catch((error: unknown) => resolve(messageOf(error)));
  });
  options.terminal.hush(failure !== undefined);
  console.log(failure === undefined ? '\nstopping' : `\n${failure}\n`);
  await takeDown(started);
  if (failure === undefined) rmSync(runDir, { recursive: true, force: true });
  console.log(failure === undefined ? 'all that was started has ended' : `logs are in ${runDir}`);
  const status = failure === undefined ? 0 : 1;
  // What was under way when Ctrl-C came (a download, say) must not keep the process.
  setTimeout(() => process.exit(status), 100).unref();
  return status;
}

/** First who brings work, then who does it, then what they talk through. */
async function takeDown({ redis, children }: Started): Promise<void> {
  for (const child of children.toReversed()) await child.stop(stopLimitMs);
  await Promise.all(redis.map((server) => server.stop()));
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
