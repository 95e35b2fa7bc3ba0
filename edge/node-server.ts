import type { Buffer } from 'node:buffer';
import type { Redis } from 'ioredis';
import type { Logger } from 'pino';
import { uuidv7 } from '../contracts/uuid.js';
import { replyChannel } from '../contracts/keys.js';
import { addUsage } from '../contracts/usage.js';
import { defineScripts } from '../contracts/scripts/scripts.js';
import { listen } from '../infra/process/listen.js';
import { recordWriter } from '../infra/process/logger.js';
import { connectCache, connectCommands, connectSubscriber, untilReady } from '../infra/process/redis-connection.js';
import { checkStreamRole, sameServer } from '../infra/process/redis-role.js';
import { openSpanKeeper } from '../infra/process/span-keeper.js';
import { startTelemetry, type Telemetry } from '../infra/process/telemetry.js';
import { createAccessLog } from './access-log.js';
import { createApp } from './app.js';
import { openAccess } from './access/open-access.js';
import { discardNodeBody, nodeBindings, nodeBodyPieces, readNodeBody } from './body/read-node-body.js';
import { createCache, noCache } from './cache.js';
import type { EdgeConfig } from './config.js';
import { createCrossing } from './crossing.js';
import type { EdgeDeps, Readiness } from './deps.js';
import { createFollowers } from './followers.js';
import { createKeptTraces, noKeptTraces } from './kept-traces.js';
import { createEdgeMetrics } from './metrics.js';
import { startModelView } from './models.js';
import { closeGracefully, createNodeServer } from './node-http.js';
import { createProducer } from './producer.js';
import { createSubmissions } from './submissions.js';
import { createUsageAccount, noUsage, type UsageAccount } from './usage.js';
import { createWaiter, type Waiter } from './waiter.js';
import { within } from './within.js';

/** A running edge. */
export interface RunningEdge {
  /** Base URL without a slash at its end. */
  readonly url: string;
  readonly metricsUrl: string | undefined;
  /** Stops accepting, finishes what is in flight, closes all; resolves with whether that was done in time. */
  close(): Promise<boolean>;
}

type Environment = Readonly<Record<string, string | undefined>>;
/** Things to undo, the last one first. */
type Undo = (() => unknown)[];

const redisStartMs = 15_000;
const drainMs = 10_000;
const usageEveryMs = 1000;
const pingLimitMs = 1_000;
/** Beside the longest wait for an answer, in which nothing moves. */
const silenceMs = 120_000;
const clock = { now: () => performance.now(), sinceEpoch: Date.now };

/**
 * Starts an edge on Node: connections, telemetry, models, and at last the port.
 * @param env where OpenTelemetry's own variables are looked up
 * @throws Error for operators, saying what is missing; nothing stays open then
 */
export async function startEdge(config: EdgeConfig, log: Logger, env: Environment): Promise<RunningEdge> {
  const undo: Undo = [];
  try {
    const edge = uuidv7();
    const { host, metricsPort } = config;
    const keeper = config.traceStore ? openSpanKeeper(config.cacheRedisUrl, 'edge-traces', log) : undefined;
    undo.push(() => keeper?.close());
    const telemetry = await startTelemetry({ service: 'sampan-edge', instance: edge, host, metricsPort, env, keeper });
    undo.push(() => telemetry.shutdown());
    const connections = await connect(config, log, undo);
    const stopping = new AbortController();
    const parts = { edge, telemetry, connections, undo, stopping: stopping.signal };
    const app = createApp(await assemble(config, log, parts));
    const server = createNodeServer(app, config.maxTimeoutMs + silenceMs);
    const url = await listen(server, host, config.port, 'edge');
    const close = async () => {
      stopping.abort();
      const inTime = await closeGracefully(server, drainMs);
      await undoAll(undo);
      return inTime;
    };
    return { url, metricsUrl: telemetry.metricsUrl, close };
  } catch (error) {
    await undoAll(undo);
    throw error;
  }
}

interface Connections {
  readonly client: Redis;
  /** Undefined where the cache is switched off. */
  readonly cache: Redis | undefined;
  /** To read kept traces, in hundreds, which no lookup is to wait for; undefined where none are kept. */
  readonly traces: Redis | undefined;
  /** For keys and limits; undefined where everybody is let in. */
  readonly access: Redis | undefined;
}

async function connect(config: EdgeConfig, logger: Logger, undo: Undo): Promise<Connections> {
  const kept = (connection: Redis) => {
    undo.push(() => connection.disconnect());
    return connection;
  };
  const client = kept(defineScripts(connectCommands(config.redisUrl, { name: 'edge-commands', logger })));
  const cache = config.cache ? kept(connectCache(config.cacheRedisUrl, { name: 'edge-cache', logger })) : undefined;
  const traces = config.traceStore
    ? kept(connectCache(config.cacheRedisUrl, { name: 'edge-reads-traces', logger }))
    : undefined;
  const access = config.auth
    ? kept(defineScripts(connectCommands(config.redisUrl, { name: 'edge-access', logger })))
    : undefined;
  await Promise.all([client, ...(access ? [access] : [])].map((one) => untilReady(one, redisStartMs)));
  await checkStreamRole(client);
  if (cache?.status === 'ready' && (await sameServer(client, cache))) {
    logger.warn('one server plays both roles: cached answers are bounded only by their time to live');
  }
  return { client, cache, traces, access };
}

interface Parts {
  readonly edge: string;
  readonly telemetry: Telemetry;
  readonly connections: Connections;
  readonly undo: Undo;
  readonly stopping: AbortSignal;
}

async function assemble(config: EdgeConfig, log: Logger, parts: Parts): Promise<EdgeDeps> {
  const { edge, telemetry, undo, stopping } = parts;
  const { client, cache, traces, access } = parts.connections;
  const { now } = clock;
  const metrics = createEdgeMetrics(telemetry.meter);
  const accessLog = createAccessLog(recordWriter(log, 'request'), setImmediate);
  undo.push(() => accessLog.flush());
  const usage = config.auth ? keepUsage(client, undo) : noUsage;
  const models = await startModelView({ client, clock });
  undo.push(() => models.stop());
  const waiter = createWaiter({ client, now });
  undo.push(() => waiter.close());
  await listenForReplies(config, log, edge, waiter, undo);
  const limits = { maxTasks: config.maxTasks, maxBytes: config.maxTaskBytes };
  const { tasksPerSecond } = models;
  const share = { shareMs: config.shareMs, timeoutMs: config.defaultTimeoutMs };
  const producer = createProducer({ client, edge, limits, share, tasksPerSecond, nextTurn: setImmediate });
  return {
    ...{ config, clock, models, metrics },
    ...openAccess(config, access, { clock, metrics }),
    usage,
    ...{ readBody: readNodeBody, bodyPieces: nodeBodyPieces, discardBody: discardNodeBody },
    clientAddress: (c) => nodeBindings(c).incoming.socket.remoteAddress ?? '',
    cross: createCrossing({ client, producer, waiter, limits, metrics }),
    submissions: createSubmissions({
      ...{ client, producer, waiter, limits, metrics, edge, clock, stopping },
      keepMs: config.asyncResultSeconds * 1000,
    }),
    followers: createFollowers(config.maxFollowers),
    stopping,
    cache: cache
      ? createCache({ reader: cache, timeoutMs: config.cacheTimeoutMs, nextTurn: setImmediate, clock, metrics })
      : noCache,
    traces: traces ? createKeptTraces(traces, Date.now) : noKeptTraces,
    tracer: telemetry.tracer,
    accessLog: accessLog.log,
    reportError: (error, requestId) => log.error({ err: error, requestId }, 'a request failed for a reason unforeseen'),
    ready: () => askReady(client),
  };
}

/** Writes what tenants used about every second, and at the end. */
function keepUsage(client: Redis, undo: Undo): UsageAccount {
  const usage = createUsageAccount({ add: (day, byTenant) => addUsage(client, day, byTenant), now: Date.now });
  const timer = setInterval(() => void usage.flush(), usageEveryMs);
  undo.push(async () => {
    clearInterval(timer);
    await usage.flush();
  });
  return usage;
}

/** Resolves when the subscription stands for the first time; each time that it does, replies may have been missed. */
async function listenForReplies(config: EdgeConfig, logger: Logger, edge: string, waiter: Waiter, undo: Undo) {
  const subscribed = new Promise<void>((resolve) => {
    const onSubscribed = () => {
      waiter.checkAll();
      resolve();
    };
    const channels = [replyChannel(edge)];
    const subscriber = connectSubscriber(config.redisUrl, { name: 'edge-replies', logger, channels, onSubscribed });
    undo.push(() => subscriber.disconnect());
    subscriber.on('smessageBuffer', (_channel: Buffer, message: Buffer) => waiter.receive(message));
  });
  await within(redisStartMs, subscribed);
}

async function askReady(client: Redis): Promise<Readiness> {
  try {
    await within(pingLimitMs, client.ping());
    return { ready: true, reasons: [] };
  } catch {
    return { ready: false, reasons: ['the stream cannot be reached'] };
  }
}

async function undoAll(undo: Undo): Promise<void> {
  for (const step of undo.splice(0).reverse()) await step();
}
