import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

/** What the edge loads at its start, of other people's. */
const packages = [
  '@opentelemetry/sdk-node',
  '@opentelemetry/exporter-prometheus',
  'ioredis',
  'zod',
  'pino',
  '@hono/node-server',
  'hono',
];

const run = promisify(execFile);

/** CPU milliseconds that each package takes to load alone, the dearest first; what two of them share counts for both. */
export async function loadCosts(): Promise<readonly (readonly [name: string, cpuMs: number])[]> {
  const script = fileURLToPath(new URL('./import-cost.js', import.meta.url));
  const costs: [string, number][] = [];
  for (const name of packages) {
    const { stdout } = await run(process.execPath, [script, name]);
    costs.push([name, Number(stdout)]);
  }
  return costs.sort(([, a], [, b]) => b - a);
}
