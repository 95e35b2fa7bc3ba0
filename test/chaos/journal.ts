import { createHash } from 'node:crypto';
import { existsSync, readFileSync } from 'node:fs';
import * as z from 'zod';
import type { Part } from './part.js';

/** One picture in one run of a device. Times are those of the clients' clock. */
export interface Inference {
  readonly md5: string;
  readonly part: string;
  readonly pid: number;
  readonly startedAt: number;
  /** Infinity where the run never ended. */
  readonly endedAt: number;
}

const lineSchema = z.object({
  at: z.number(),
  pid: z.int(),
  event: z.enum(['start', 'end']),
  images: z.array(z.string()),
});

/** A part that wrote to the journal. */
type Writer = Pick<Part, 'name' | 'clockOffMs' | 'lives'>;

/** What a consumer runs to see whether its device is well again; no client sent it. */
const canary = createHash('md5').update('canary').digest('hex');

/**
 * Reads what the devices wrote of their runs, in the order of their starts. Each part wrote by its own clock, which may
 * be off; that is taken back here.
 * @throws Error where a line is not one, or was written by a stranger
 */
export function readJournal(path: string, parts: readonly Writer[]): Inference[] {
  const writers = new Map(parts.flatMap((part) => part.lives.map(({ pid }) => [pid, part] as const)));
  const inferences: Inference[] = [];
  const running = new Map<number, { startedAt: number; images: readonly string[] }>();
  const finish = (part: Writer, pid: number, endedAt: number) => {
    const run = running.get(pid);
    running.delete(pid);
    for (const md5 of run?.images ?? []) {
      if (md5 !== canary) inferences.push({ md5, part: part.name, pid, startedAt: run?.startedAt ?? 0, endedAt });
    }
  };
  for (const { at, pid, event, images } of linesOf(path)) {
    const part = writers.get(pid);
    if (!part) throw new Error(`the journal has a line of process ${String(pid)}, which is none of ours`);
    // A device does one run at a time: what had not ended when the next one started never did.
    finish(part, pid, event === 'end' ? at - part.clockOffMs : Infinity);
    if (event === 'start') running.set(pid, { startedAt: at - part.clockOffMs, images });
  }
  for (const pid of [...running.keys()]) {
    const part = writers.get(pid);
    if (part) finish(part, pid, Infinity);
  }
  return inferences.sort((a, b) => a.startedAt - b.startedAt);
}

function linesOf(path: string): z.infer<typeof lineSchema>[] {
  if (!existsSync(path)) return [];
  const lines = readFileSync(path, 'utf8').split('\n');
  return lines.filter((line) => line !== '').map((line) => lineSchema.parse(JSON.parse(line)));
}
