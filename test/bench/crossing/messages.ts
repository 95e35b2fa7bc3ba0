import * as z from 'zod';

/** What the bench asks of a process that it started. */
export const commandSchema = z.discriminatedUnion('do', [
  z.strictObject({
    do: z.literal('load'),
    callers: z.int(),
    imageBytes: z.int(),
    /** So many tasks, or as many as are called within so many seconds. */
    until: z.union([z.strictObject({ tasks: z.int() }), z.strictObject({ seconds: z.number() })]),
  }),
  /** A setting that the process knows to change while it runs. */
  z.strictObject({ do: z.literal('tune'), setting: z.string() }),
  z.strictObject({ do: z.literal('stop') }),
]);
export type Command = z.infer<typeof commandSchema>;
export type LoadCommand = Extract<Command, { do: 'load' }>;

/** What one stretch of calls took, as the calling process saw it. */
export const loadReportSchema = z.strictObject({
  tasks: z.int(),
  seconds: z.number(),
  p50Ms: z.number(),
  p99Ms: z.number(),
});
export type LoadReport = z.infer<typeof loadReportSchema>;

/** What a process of the bench can be asked for. */
export interface Abilities {
  load?(command: LoadCommand): Promise<LoadReport>;
  tune?(setting: string): void;
  stop(): Promise<void>;
}

/** Does what the bench says until it says stop, each command answered by a message. */
export function obey(abilities: Abilities): void {
  process.on('message', (message) => {
    follow(abilities, commandSchema.parse(message)).catch((error: unknown) => {
      console.error(error);
      process.exit(1);
    });
  });
  // A bench that has died must not leave its processes behind.
  process.on('disconnect', () => process.exit());
  process.send?.('ready');
}

async function follow({ load, tune, stop }: Abilities, command: Command): Promise<void> {
  if (command.do === 'stop') {
    await stop();
    process.disconnect();
    return;
  }
  if (command.do === 'tune') {
    tune?.(command.setting);
    process.send?.('tuned');
    return;
  }
  process.send?.(await load?.(command));
}
