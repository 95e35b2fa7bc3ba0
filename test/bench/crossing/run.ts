import { availableParallelism, cpus, totalmem } from 'node:os';
import { Redis } from 'ioredis';
import { startOtlpSink } from '../otlp-sink.js';
import { startParty, type Party } from './parties.js';
import { serverBinary } from '../../redis.js';
import { startRedis, type RunningRedis } from '../../../infra/setup/start-redis.js';

const imageBytes = 20_000;

interface Side {
  readonly name: string;
  readonly caller: Party;
  readonly worker: Party;
  readonly servers: readonly Redis[];
}

/** Per task: CPU in µs of the three parties, and the callers' view. */
export interface Round {
  readonly side: string;
  readonly callers: number;
  readonly edgeMicros: number;
  readonly consumerMicros: number;
  readonly redisMicros: number;
  readonly totalMicros: number;
  readonly tasksPerSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface CrossingOptions {
  readonly rounds: number;
  readonly tasks: number;
  readonly callers: number;
  /** Whether each of our tasks asks the cache first and is remembered in it, as shipped. */
  readonly cache: boolean;
}

/** Runs our crossing and the bare loop on servers of their own, in turns. */
export async function runCrossing(options: CrossingOptions): Promise<readonly Round[]> {
  const binary = await serverBinary();
  const servers = await Promise.all(
    (['stream', 'cache', 'stream'] as const).map((role) => startRedis({ role, binary })),
  );
  const sink = await startOtlpSink();
  try {
    const sides = await startSides(servers, sink.url, options.cache);
    const rounds = await runRounds(sides, options);
    await Promise.all(
      sides.flatMap(({ caller, worker, servers: clients }) => [
        caller.stop(),
        worker.stop(),
        ...clients.map((one) => one.quit()),
      ]),
    );
    return rounds;
  } finally {
    await sink.close();
    await Promise.all(servers.map((server) => server.stop()));
  }
}

async function startSides(servers: readonly RunningRedis[], otlp: string, cache: boolean): Promise<readonly Side[]> {
  const [stream, cacheServer, bareStream] = servers.map((server) => server.url);
  if (!stream || !cacheServer || !bareStream) throw new Error('a server is missing');
  const telemetry = {
    OTEL_EXPORTER_OTLP_ENDPOINT: otlp,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: '0.01',
  };
  const backend = {
    ...{ ...telemetry, REDIS_URL: stream, CACHE_REDIS_URL: cacheServer, HEALTH_PORT: '0', METRICS_PORT: '0' },
    ...{ SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: ['bench'] }), SAMPAN_CACHE: cache ? 'on' : 'off' },
  };
  const worker = await startParty('./worker.js', [], backend);
  const caller = await startParty('./caller.js', [stream, cache ? cacheServer : ''], telemetry);
  const bareWorker = await startParty('./bare.js', ['worker', bareStream], {});
  const bareCaller = await startParty('./bare.js', ['caller', bareStream], {});
  return [
    { name: 'sampan', caller, worker, servers: [new Redis(stream), ...(cache ? [new Redis(cacheServer)] : [])] },
    { name: 'bare loop', caller: bareCaller, worker: bareWorker, servers: [new Redis(bareStream)] },
  ];
}

async function runRounds(
  sides: readonly Side[],
  { rounds, tasks, callers }: CrossingOptions,
): Promise<readonly Round[]> {
  // A server runs for weeks: what is measured is code that has been compiled.
  for (const side of [...sides, ...sides]) await runRound(side, callers, tasks);
  const measured: Round[] = [];
  for (let round = 0; round < rounds; round++) {
    const order = round % 2 === 0 ? sides : [...sides].reverse();
    for (const side of order) measured.push(await runRound(side, callers, tasks));
  }
  return measured;
}

async function runRound({ name, caller, worker, servers }: Side, callers: number, tasks: number): Promise<Round> {
  const before = [await worker.cpuMicros(), await redisMicros(servers)] as const;
  const load = await caller.load({ do: 'load', callers, tasks, imageBytes });
  const edgeMicros = load.cpuMicros / tasks;
  const consumerMicros = ((await worker.cpuMicros()) - before[0]) / tasks;
  const redis = ((await redisMicros(servers)) - before[1]) / tasks;
  return {
    ...{
      side: name,
      callers,
      edgeMicros,
      consumerMicros,
      redisMicros: redis,
      totalMicros: edgeMicros + consumerMicros + redis,
    },
    ...{ tasksPerSecond: tasks / load.seconds, p50Ms: load.p50Ms, p99Ms: load.p99Ms },
  };
}

async function redisMicros(servers: readonly Redis[]): Promise<number> {
  const infos = await Promise.all(servers.map((server) => server.info('cpu')));
  const seconds = (info: string, field: string) => Number(new RegExp(`^${field}:([\\d.]+)`, 'm').exec(info)?.[1]);
  return infos.reduce((sum, info) => sum + 1e6 * (seconds(info, 'used_cpu_user') + seconds(info, 'used_cpu_sys')), 0);
}

/** The machine, as a line under the table. */
export function machine(): string {
  return `Node ${process.version}, ${String(availableParallelism())} × ${cpus()[0]?.model ?? 'unknown'}, ${String(Math.round(totalmem() / 2 ** 30))} GiB`;
}
