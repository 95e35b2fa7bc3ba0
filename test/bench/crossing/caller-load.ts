import { randomBytes } from 'node:crypto';
import { quantile } from '../statistics.js';
import type { LoadCommand, LoadReport } from './messages.js';

/**
 * Calls `task` from so many callers at once, each waiting for its answer before the next call.
 * Every call gets bytes of its own that no other call gets: a copy in which four bytes are changed.
 */
export async function callLoad(
  { callers, imageBytes, until }: LoadCommand,
  task: (image: Buffer) => Promise<void>,
): Promise<LoadReport> {
  const latencies: number[] = [];
  const images = Array.from({ length: callers }, () => randomBytes(imageBytes));
  const startedAt = performance.now();
  const most = 'tasks' in until ? until.tasks : Infinity;
  const endAt = 'seconds' in until ? startedAt + until.seconds * 1000 : Infinity;
  let called = 0;
  const caller = async (image: Buffer): Promise<void> => {
    let askedAt = startedAt;
    while (called < most && askedAt < endAt) {
      image.writeUInt32LE(called++, 0);
      await task(Buffer.from(image));
      const answeredAt = performance.now();
      latencies.push(answeredAt - askedAt);
      askedAt = answeredAt;
    }
  };
  await Promise.all(images.map(caller));
  const seconds = (performance.now() - startedAt) / 1000;
  latencies.sort((a, b) => a - b);
  return { tasks: called, seconds, p50Ms: quantile(latencies, 0.5), p99Ms: quantile(latencies, 0.99) };
}
