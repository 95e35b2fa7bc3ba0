import { fork, type ChildProcess } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import * as z from 'zod';

/** What the clients are told when their process starts. */
export const orderSchema = z.strictObject({
  edges: z.array(z.string()).min(1),
  model: z.string(),
  /** With which the clients' tokens are signed. */
  tokenSecret: z.string(),
  seed: z.int(),
  ratePerSecond: z.number().positive(),
  mostInFlight: z.int().positive(),
  recordFile: z.string(),
  pictures: z.enum(['simulated', 'photos']),
});
export type Order = z.infer<typeof orderSchema>;

export const commandSchema = z.discriminatedUnion('do', [
  z.strictObject({ do: z.literal('begin') }),
  z.strictObject({ do: z.literal('burst'), count: z.int().positive() }),
  z.strictObject({ do: z.literal('stop') }),
]);
type Command = z.infer<typeof commandSchema>;

const reportSchema = z.strictObject({
  done: z.enum(['ready', 'burst', 'stop']),
  sent: z.int(),
  /** Requests that were due and not sent, since too many were in flight. */
  heldBack: z.int(),
  pictures: z.int(),
  /** The longest that the clients' own process was held up. */
  worstLagMs: z.number(),
});
export type Report = z.infer<typeof reportSchema>;

/** The clients' process. */
export interface Load {
  begin(): void;
  /** Many clients send at once and go away; resolves when all have gone. */
  burst(count: number): Promise<void>;
  /** Resolves when nothing is in flight any more and every record is written. */
  stop(): Promise<Report>;
  kill(): void;
}

/** Starts the clients' process; nothing is sent yet. */
export async function startLoad(order: Order): Promise<Load> {
  const child = fork(fileURLToPath(new URL('./generator.js', import.meta.url)), [JSON.stringify(order)], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  await told(child, 'ready');
  const tell = (command: Command) => child.send(command);
  return {
    begin: () => void tell({ do: 'begin' }),
    burst: async (count) => {
      const done = told(child, 'burst');
      tell({ do: 'burst', count });
      await done;
    },
    stop: async () => {
      const done = told(child, 'stop');
      tell({ do: 'stop' });
      const report = await done;
      child.disconnect();
      return report;
    },
    kill: () => void child.kill('SIGKILL'),
  };
}

function told(child: ChildProcess, what: Report['done']): Promise<Report> {
  return new Promise((resolve, reject) => {
    const settle = () => {
      child.off('message', note);
      child.off('exit', ended);
    };
    const note = (message: unknown) => {
      const report = reportSchema.parse(message);
      if (report.done !== what) return;
      settle();
      resolve(report);
    };
    const ended = (code: number | null, signal: string | null) => {
      settle();
      reject(new Error(`the clients' process ended (${signal ?? String(code)})`));
    };
    child.on('message', note).on('exit', ended);
  });
}
