import * as z from 'zod';
import type { LoadReport } from './caller-load.js';

/** What the bench asks of a process it started. */
export const commandSchema = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('load'), callers: z.int(), tasks: z.int(), imageBytes: z.int() }),
  z.strictObject({ do: z.literal('cpu') }),
  z.strictObject({ do: z.literal('stop') }),
]);
export type Command = z.infer<typeof commandSchema>;

export const answerSchema = z.union([
  z.strictObject({ ready: z.literal(true) }),
  z.strictObject({ cpuMicros: z.number() }),
  z.strictObject({
    tasks: z.number(),
    seconds: z.number(),
    cpuMicros: z.number(),
    p50Ms: z.number(),
    p99Ms: z.number(),
  }),
]);

/** Answers the bench's commands until it says stop. */
export function obey(
  load: ((command: Extract<Command, { do: 'load' }>) => Promise<LoadReport>) | undefined,
  stop: () => Promise<void>,
): void {
  const answer = async (message: unknown) => {
    const command = commandSchema.parse(message);
    if (command.do === 'cpu') {
      const { user, system } = process.cpuUsage();
      process.send?.({ cpuMicros: user + system });
    } else if (command.do === 'load') {
      process.send?.(await load?.(command));
    } else {
      await stop();
      process.disconnect();
    }
  };
  process.on('message', (message) => {
    answer(message).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  // A bench that has died must not leave its processes behind.
  process.on('disconnect', () => process.exit());
  process.send?.({ ready: true });
}
