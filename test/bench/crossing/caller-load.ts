import { randomBytes } from 'node:crypto';

/** What one measured stretch of calls took, in the calling process. */
export interface LoadReport {
  readonly tasks: number;
  readonly seconds: number;
  /** User and system time of the calling process. */
  readonly cpuMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

/**
 * Calls `task` from so many callers at once, each waiting for its answer before the next call.
 * Every call gets bytes that no other call gets, made in place outside of nobody's account: eight bytes are changed.
 */
export async function callLoad(
  callers: number,
  tasks: number,
  imageBytes: number,
  task: (image: Buffer) => Promise<void>,
): Promise<LoadReport> {
  const latencies: number[] = [];
  let left = tasks;
  const cpu = process.cpuUsage();
  const startedAt = performance.now();
  const caller = async (): Promise<void> => {
    const image = randomBytes(imageBytes);
    while (left-- > 0) {
      image.writeUInt32LE(left, 0);
      const askedAt = performance.now();
      await task(Buffer.from(image));
      latencies.push(performance.now() - askedAt);
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  const seconds = (performance.now() - startedAt) / 1000;
  const used = process.cpuUsage(cpu);
  latencies.sort((a, b) => a - b);
  const at = (share: number) => latencies[Math.min(latencies.length - 1, Math.floor(latencies.length * share))] ?? NaN;
  return { tasks, seconds, cpuMicros: used.user + used.system, p50Ms: at(0.5), p99Ms: at(0.99) };
}
