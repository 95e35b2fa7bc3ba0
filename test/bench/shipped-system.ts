import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { picture } from '../pictures.js';
import { startGenerator, type Generator } from './http/start-generator.js';
import { tracingOnePercent, type Part, type Surroundings } from './surroundings.js';

type Environment = Readonly<Record<string, string>>;

/** What shipped parts of one system are told: production's defaults, and any free ports. */
export function shippedEnv(here: Surroundings, stream: { url: string }, cache: { url: string }): Environment {
  return {
    ...tracingOnePercent(here.otlpUrl),
    ...{ REDIS_URL: stream.url, CACHE_REDIS_URL: cache.url, METRICS_PORT: '0', HEALTH_PORT: '0', PORT: '0' },
  };
}

/** What a simulated device serves, and what its runs take. */
export interface SimulatedDevice {
  readonly models: readonly string[];
  readonly baseMs?: number;
  readonly perImageMs?: number;
  readonly maxBatch?: number;
}

export function startSimulatedBackend(here: Surroundings, env: Environment, device: SimulatedDevice): Promise<Part> {
  return here.start('backend/main.js', { ...env, SAMPAN_SIMULATED_DEVICE: JSON.stringify(device) });
}

export function startEdge(here: Surroundings, env: Environment): Promise<Part> {
  return here.start('edge.mjs', env);
}

/** How pictures are sent. */
export const predictRequest = (model: string) => ({
  ...{ method: 'POST', paths: [`/v1/models/${model}/predict`], headers: { 'content-type': 'image/jpeg' } },
});

/** Lends the file of a picture of about so many bytes, and generators of load that end with the work. */
export async function withLoad<Result>(
  load: { readonly bytes: number; readonly generators: number },
  work: (file: string, generators: readonly [Generator, ...Generator[]]) => Promise<Result>,
): Promise<Result> {
  const folder = mkdtempSync(join(tmpdir(), 'sampan-bench-'));
  const others = Array.from({ length: load.generators - 1 }, startGenerator);
  const generators = [startGenerator(), ...others] as const;
  try {
    const file = join(folder, 'picture.jpg');
    const plain = picture('bench').length;
    writeFileSync(file, picture('bench', Math.max(0, load.bytes - plain)));
    return await work(file, [...generators]);
  } finally {
    await Promise.all(generators.map((generator) => generator.stop()));
    rmSync(folder, { recursive: true });
  }
}
