import { VoidRun, type BenchOptions, type Column } from '../bench.js';
import { cpuDuring } from '../process-cpu.js';
import type { Side } from '../rounds.js';
import type { Part } from '../surroundings.js';
import type { HttpLoad, HttpReport } from './load.js';
import type { Generator } from './start-generator.js';

/** What is measured of each side that answers HTTP. */
export const httpColumns: readonly Column[] = [
  { key: 'server', label: 'CPU µs a request, server', digits: 1 },
  { key: 'redis', label: 'Redis', digits: 1 },
  { key: 'sum', label: 'sum', digits: 1 },
  { key: 'perSecond', label: 'requests/s', digits: 0 },
  { key: 'p50', label: 'p50 ms', digits: 2 },
  { key: 'p99', label: 'p99 ms', digits: 2 },
  { key: 'generator', label: 'generator busy', digits: 2 },
];

export interface HttpSide {
  readonly name: string;
  readonly server: Part;
  /** Process ids of the Redis servers that it uses. */
  readonly redis: readonly number[];
  /** Without `origins`, which are the server's own. */
  readonly load: Omit<HttpLoad, 'origins'>;
  readonly generator: Generator;
  /** How many requests of the last stretch were answered with 200, but not as is to be measured. */
  otherAnswers?(): Promise<number>;
}

/** How many requests each side is sent a round, as settings of the run. */
export function requestsOf(sides: readonly HttpSide[]): Record<string, number> {
  const counts = sides.flatMap(({ name, load }) =>
    load.pace.kind === 'closed' ? [[`requests to ${name}`, load.pace.requests] as const] : [],
  );
  return Object.fromEntries(counts);
}

/** Beyond this share of other answers, such as misses, a stretch does not count. */
const mostOthers = 0.01;
const tries = 3;

/** Has a side answer its load a few times, whatever the answers: servers run for weeks, so what counts is compiled code. */
export async function warmUp(side: HttpSide, { quick }: Pick<BenchOptions, 'quick'>): Promise<void> {
  for (let stretch = 0; stretch < (quick ? 1 : 3); stretch++) await send(side);
  await side.otherAnswers?.();
}

/**
 * Measures one side's CPU per request while a generator asks it. A stretch with too many other answers (a neighbour on
 * the machine held it up for longer than the cache may take) is measured again; the third one voids the run.
 */
export function measured(side: HttpSide): Side {
  const pids = { server: side.server.pid, redis: side.redis };
  return {
    name: side.name,
    measure: async () => {
      for (let i = 0; i < tries; i++) {
        const { result, micros } = await cpuDuring(pids, () => send(side));
        const others = result.requests - (result.statuses['200'] ?? 0) + ((await side.otherAnswers?.()) ?? 0);
        if (others <= result.requests * mostOthers) return valuesOf(result, micros);
      }
      throw new VoidRun(`${side.name} did not answer as is to be measured, ${String(tries)} times in a row`);
    },
  };
}

function send({ generator, load, server }: HttpSide): Promise<HttpReport> {
  return generator.send({ ...load, origins: [server.url] });
}

function valuesOf(report: HttpReport, micros: Readonly<Record<string, number>>): Record<string, number> {
  const { requests, seconds, p50Ms, p99Ms, busy } = report;
  const [server, redis] = [(micros['server'] ?? 0) / requests, (micros['redis'] ?? 0) / requests];
  return {
    ...{ server, redis, sum: server + redis, perSecond: requests / seconds },
    ...{ p50: p50Ms, p99: p99Ms, generator: busy },
  };
}
