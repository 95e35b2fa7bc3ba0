import { isReady, startPart, type TestProcess } from '../processes.js';

/** The shipped edge or backend, as a process that is up. */
export interface RunningPart {
  readonly process: TestProcess;
  /** Where it is asked: an edge's base URL, a backend's health server. */
  readonly url: string;
}

const quiet = { PORT: '0', METRICS_PORT: '0', HEALTH_PORT: '0', SAMPAN_LOG_LEVEL: 'info' };

/** Starts an edge and waits until it listens. */
export async function runningEdge(env: Readonly<Record<string, string>>): Promise<RunningPart> {
  const process = startPart('edge.mjs', { ...quiet, ...env });
  const line = await process.line(({ msg }) => msg === 'listening');
  return { process, url: String(line['url']) };
}

/** Starts a backend whose simulated device serves one model, and waits until it reads. */
export async function runningBackend(
  model: string,
  env: Readonly<Record<string, string>>,
  device: object = {},
): Promise<RunningPart> {
  const simulated = JSON.stringify({ models: [model], ...device });
  const process = startPart('backend/main.js', { ...quiet, SAMPAN_SIMULATED_DEVICE: simulated, ...env });
  const line = await process.line(isReady);
  return { process, url: String(line['health']) };
}

/** Whether a process has neither ended nor been ended. */
export function lives({ process: { child } }: RunningPart): boolean {
  return child.exitCode === null && child.signalCode === null;
}
