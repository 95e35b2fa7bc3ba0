/** A process that sends load: one command over IPC after the other, each answered by its report. */
import { readFileSync } from 'node:fs';
import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../random.js';
import { quantile } from '../statistics.js';
import { openConnection, type HttpConnection } from './connection.js';
import { httpLoadSchema, type HttpReport } from './load.js';

type Load = ReturnType<typeof httpLoadSchema.parse>;

process.on('message', (message) => {
  run(httpLoadSchema.parse(message)).then(
    (report) => process.send?.(report),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
process.on('disconnect', () => process.exit());

// Bodies stay unique over all commands of this process.
let sent = 0;

async function run(load: Load): Promise<HttpReport> {
  const pools = load.origins.map((origin) => connectionPool(new URL(origin)));
  for (const pool of pools) await pool.open(load.connections);
  const latencies: number[] = [];
  const statuses: Record<string, number> = {};
  let inTime = 0;
  const requestOf = requests(load);
  const send = async (dueAt: number) => {
    const number = sent++;
    const { head, body } = requestOf(number);
    const pool = pools[number % pools.length];
    if (!pool) throw new Error('there is nowhere to send to');
    const status = await pool.ask(head, body);
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status !== 200) return;
    const latency = performance.now() - dueAt;
    latencies.push(latency);
    if (latency <= load.withinMs) inTime++;
  };
  const [cpu, loop, startedAt] = [process.cpuUsage(), performance.eventLoopUtilization(), performance.now()];
  const requested = await paced(load, send);
  const seconds = (performance.now() - startedAt) / 1000;
  const [used, { utilization: busy }] = [process.cpuUsage(cpu), performance.eventLoopUtilization(loop)];
  for (const pool of pools) pool.close();
  latencies.sort((a, b) => a - b);
  const [p50Ms, p99Ms] = [quantile(latencies, 0.5), quantile(latencies, 0.99)].map((ms) => (ms >= 0 ? ms : -1));
  return {
    ...{ requests: requested, seconds, statuses, goodput: inTime / goodputSeconds(load, seconds), busy },
    ...{ p50Ms: p50Ms ?? -1, p99Ms: p99Ms ?? -1, cpuMicros: used.user + used.system },
    meanMs: latencies.length === 0 ? -1 : latencies.reduce((sum, ms) => sum + ms, 0) / latencies.length,
  };
}

const goodputSeconds = (load: Load, seconds: number) => (load.pace.kind === 'open' ? load.pace.seconds : seconds);

/** Sends at the asked pace; resolves with how many were sent, when all are answered. */
async function paced(load: Load, send: (dueAt: number) => Promise<void>): Promise<number> {
  const { pace } = load;
  if (pace.kind === 'closed') {
    let left = pace.requests;
    const caller = async () => {
      while (left-- > 0) await send(performance.now());
    };
    await Promise.all(Array.from({ length: pace.callers }, caller));
    return pace.requests;
  }
  const random = seededRandom(pace.seed);
  const startedAt = performance.now();
  const endAt = startedAt + pace.seconds * 1000;
  const asked: Promise<void>[] = [];
  for (
    let dueAt = startedAt;
    dueAt < endAt;
    dueAt += (-Math.log(1 - random.int(2 ** 24) / 2 ** 24) * 1000) / pace.perSecond
  ) {
    if (dueAt > performance.now()) await sleep(dueAt - performance.now());
    asked.push(send(dueAt));
  }
  await Promise.all(asked);
  return asked.length;
}

function requests(load: Load): (number: number) => { head: string; body: Buffer | undefined } {
  const { host } = new URL(load.origins[0] ?? '');
  const bodies = load.files.map((file) => readFileSync(file));
  const fixed = Object.entries({ host, ...load.headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return (number) => {
    const path = load.paths[number % load.paths.length] ?? '/';
    const file = bodies[number % Math.max(1, bodies.length)];
    const body = file && load.unique ? Buffer.concat([file, uniqueTail(number)]) : file;
    const length = body ? `content-length: ${String(body.length)}\r\n` : '';
    return { head: `${load.method} ${path} HTTP/1.1\r\n${fixed.join('')}${length}\r\n`, body };
  };
}

function uniqueTail(number: number): Buffer {
  const tail = Buffer.alloc(8);
  tail.writeUInt32LE(process.pid, 0);
  tail.writeUInt32LE(number, 4);
  return tail;
}

/** Connections that are free are used again in turns; where none is free another one is opened. */
function connectionPool({ hostname, port }: URL) {
  const free: HttpConnection[] = [];
  const all: HttpConnection[] = [];
  const openOne = async () => {
    const connection = await openConnection(hostname, Number(port));
    all.push(connection);
    return connection;
  };
  return {
    open: async (count: number) => {
      while (free.length < count) free.push(await openOne());
    },
    ask: async (head: string, body: Buffer | undefined) => {
      let connection = free.shift();
      // The server closes what was idle for a while.
      while (connection && !connection.isOpen) connection = free.shift();
      connection ??= await openOne();
      const status = await connection.ask(head, body);
      free.push(connection);
      return status;
    },
    close: () => {
      for (const connection of all) connection.close();
    },
  };
}
