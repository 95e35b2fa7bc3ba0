import { appendFileSync } from 'node:fs';
import { createHash } from 'node:crypto';
import * as z from 'zod';

/** What a simulated device is told to do wrong, by texts that images contain; for tests of what happens then. */
export const simulatedFaultsSchema = z.strictObject({
  /** Such a run kills its process. */
  killOn: z.string().min(1).optional(),
  /** Such a run never ends. */
  hangOn: z.string().min(1).optional(),
  /** Such a run throws. */
  failRunOn: z.string().min(1).optional(),
  /** Such a run throws what a device throws that is lost. */
  lostOn: z.string().min(1).optional(),
  /** A larger batch throws what a device throws whose memory is short. */
  mostPerRun: z.int().min(1).optional(),
});
export type SimulatedFaults = z.infer<typeof simulatedFaultsSchema>;

/** Does what a run with these images was told to do wrong, if anything. */
export async function misbehave(faults: SimulatedFaults, images: readonly Uint8Array[]): Promise<void> {
  const has = (text: string | undefined) => images.some((image) => contains(image, text));
  if (has(faults.killOn)) process.kill(process.pid, 'SIGKILL');
  if (has(faults.killOn) || has(faults.hangOn)) await new Promise<never>(() => undefined);
  if (has(faults.lostOn)) throw new Error('CUDA failure 700: an illegal memory access was encountered (simulated)');
  if (images.length > (faults.mostPerRun ?? Infinity)) throw new Error('CUDA failure 2: out of memory (simulated)');
  if (has(faults.failRunOn)) throw new Error('a simulated run was told to fail on one of its images');
}

/** Whether an image contains a text or bytes. */
export function contains(image: Uint8Array, marker: string | Buffer | undefined): boolean {
  return marker !== undefined && Buffer.from(image.buffer, image.byteOffset, image.byteLength).includes(marker);
}

/** A device's own record of what it ran, kept outside the process, so that it outlives it. */
export type RunJournal = (event: 'start' | 'end', images: readonly Uint8Array[]) => void;

/** Appends a line of JSON per event to a file, before it returns; images are named by their MD5. */
export function fileJournal(path: string): RunJournal {
  return (event, images) => {
    const md5s = images.map((image) => createHash('md5').update(image).digest('hex'));
    appendFileSync(path, `${JSON.stringify({ at: Date.now(), pid: process.pid, event, images: md5s })}\n`);
  };
}
