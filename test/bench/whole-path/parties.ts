import type { Generator } from '../http/start-generator.js';
import type { HttpLoad, HttpReport } from '../http/load.js';
import { cpuDuring } from '../process-cpu.js';
import type { Surroundings } from '../surroundings.js';
import type { Layout } from './layouts.js';
import { startOurs } from './ours.js';
import type { QueueSettings } from './queue-settings.js';
import { startLoop } from './start-loop.js';

/** What every party works with. */
export interface Material {
  readonly modelDir: string;
  readonly model: string;
  readonly version: string;
  readonly files: readonly string[];
}

/** Someone who answers HTTP requests with predictions. */
export interface Server {
  readonly origins: readonly string[];
  readonly path: string;
  /** Whose CPU counts, by name. */
  readonly pids: Readonly<Record<string, readonly number[]>>;
}

/** How a queue is run, apart from what it works with. */
export type QueueForm = Pick<QueueSettings, 'threads' | 'spinning' | 'atOnce' | 'mostHeld'>;

/** Ours as shipped, with a backend per session. */
export async function oursOf(here: Surroundings, material: Material, layout: Layout): Promise<Server> {
  const { modelDir, model } = material;
  const { sessions: backends, threads } = layout;
  const { origins, path, edgePids, backendPids, redisPids } = await startOurs(here, {
    ...{ modelDir, model, backends, threads },
  });
  return { origins, path, pids: { edge: edgePids, backend: backendPids, redis: redisPids } };
}

/** The rival, in a process of its own. */
export async function queueOf(here: Surroundings, material: Material, form: QueueForm): Promise<Server> {
  const { modelDir, model, version } = material;
  const settings = { modelDir, model, version, ...form } satisfies QueueSettings;
  const { url, pid } = await here.start('test/bench/whole-path/in-process-queue.js', {}, [JSON.stringify(settings)]);
  return { origins: [url], path: '/predict', pids: { queue: [pid] } };
}

/** The limit, on the CPU. */
export function loopOf(here: Surroundings, material: Material, { sessions, threads }: Layout) {
  const { modelDir, model, files } = material;
  return startLoop(here, { modelDir, model, device: 'cpu', threads, sessions, files: [...files] });
}

/** In words, for tables. */
export const formName = ({ threads, spinning, atOnce }: QueueForm) =>
  `${threads === undefined ? 'all threads' : `${String(threads)} threads`}${spinning ? ' spinning' : ''}, ${String(atOnce)} at once`;

/** Sends photos that nobody else has sent, and says what came back and what it cost whom. */
export async function ask(
  generator: Generator,
  { origins, path, pids }: Server,
  files: readonly string[],
  { pace, connections, withinMs = 10_000 }: Pick<HttpLoad, 'pace' | 'connections' | 'withinMs'>,
): Promise<{ readonly report: HttpReport; readonly micros: Readonly<Record<string, number>> }> {
  const headers = { 'content-type': 'image/jpeg', 'x-timeout-ms': String(withinMs) };
  const load: HttpLoad = {
    ...{ origins: [...origins], method: 'POST', paths: [path], headers, files: [...files], unique: true },
    ...{ pace, connections, withinMs },
  };
  const { result: report, micros } = await cpuDuring(pids, () => generator.send(load));
  return { report, micros };
}
