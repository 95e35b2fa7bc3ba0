import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { VoidRun } from '../bench.js';
import { httpReportSchema, type HttpLoad, type HttpReport } from './load.js';

export interface Generator {
  readonly pid: number;
  /** @throws VoidRun when the generator had no time left of its own; Error when a server closed a connection */
  send(load: HttpLoad): Promise<HttpReport>;
  stop(): Promise<void>;
}

/** From here on what is measured would be the generator. */
const saturatedAt = 0.95;

/** Starts a process that sends load. */
export function startGenerator(): Generator {
  const child = fork(fileURLToPath(new URL('./generator.js', import.meta.url)));
  if (child.pid === undefined) throw new Error('the generator does not start');
  const exited = once(child, 'exit');
  return {
    pid: child.pid,
    send: async (load) => {
      const answer = nextMessage(child);
      child.send(load);
      const report = httpReportSchema.parse(await answer);
      if (report.busy > saturatedAt)
        throw new VoidRun(`the generator was busy for ${report.busy.toFixed(2)} of the time`);
      return report;
    },
    stop: async () => {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

function nextMessage(child: ChildProcess): Promise<unknown> {
  return new Promise((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`the generator ended with ${String(code)}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message);
    });
  });
}
