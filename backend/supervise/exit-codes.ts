/** Exit codes of a backend process, for whoever starts it again. */
export const exitCodes = {
  stopped: 0,
  cannotStart: 1,
  deviceLost: 3,
  drainedTooLate: 4,
  memoryFull: 5,
  cannotGoOn: 6,
} as const;

const words: ReadonlyMap<number, string> = new Map([
  [exitCodes.stopped, 'it was told to stop, though not by its supervisor'],
  [exitCodes.cannotStart, 'it could not start, or met an error that nothing caught'],
  [exitCodes.deviceLost, 'its device is lost'],
  [exitCodes.drainedTooLate, 'it drained too late'],
  [exitCodes.cannotGoOn, 'reading or running could not go on'],
  [exitCodes.memoryFull, 'its memory could not get back under the limit'],
]);

/** How a process ended: a code, or the signal that ended it. */
export interface Ending {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Where there was no process at all. */
  readonly error?: Error;
}

/** Why a process ended, for people. */
export function endingInWords({ code, signal, error }: Ending): string {
  if (error) return `there was no process: ${error.message}`;
  if (code === null) return `${signal ?? 'something'} ended it`;
  return words.get(code) ?? `it ended with status ${code}`;
}
