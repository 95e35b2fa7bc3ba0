import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { availableParallelism, cpus, release, totalmem } from 'node:os';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

/** Where and with what a bench ran. */
export const machineSchema = z.strictObject({
  cpu: z.string(),
  cores: z.int(),
  memoryGiB: z.int(),
  kernel: z.string(),
  node: z.string(),
  redis: z.string(),
  packages: z.record(z.string(), z.string()),
});
export type Machine = z.infer<typeof machineSchema>;

const measuredPackages = ['hono', '@hono/node-server', 'ioredis', 'onnxruntime-node', 'sharp', 'bullmq'];

/** @param redisBinary the server program that the bench starts */
export function machine(redisBinary: string): Machine {
  const version = /v=(\S+)/.exec(execFileSync(redisBinary, ['--version'], { encoding: 'utf8' }))?.[1] ?? 'unknown';
  return {
    ...{ cpu: cpus()[0]?.model.trim() ?? 'unknown', cores: availableParallelism() },
    ...{ memoryGiB: Math.round(totalmem() / 2 ** 30), kernel: release(), node: process.version, redis: version },
    packages: installedVersions(),
  };
}

function installedVersions(): Record<string, string> {
  const path = fileURLToPath(new URL('../../../package-lock.json', import.meta.url));
  const lock = JSON.parse(readFileSync(path, 'utf8')) as { packages: Record<string, { version?: string }> };
  return Object.fromEntries(
    measuredPackages.map((name) => [name, lock.packages[`node_modules/${name}`]?.version ?? 'not installed']),
  );
}

/** As one line under a table. */
export function machineLine({ cpu, cores, memoryGiB, kernel, node, redis, packages }: Machine): string {
  const versions = Object.entries(packages).map(([name, version]) => `${name} ${version}`);
  return [
    `${String(cores)} × ${cpu}, ${String(memoryGiB)} GiB, Linux ${kernel}`,
    `Node.js ${node}, Redis ${redis}`,
    ...versions,
  ].join(', ');
}
