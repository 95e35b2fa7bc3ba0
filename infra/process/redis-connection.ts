import { Redis, type RedisOptions } from 'ioredis';

/** What a connection tells about itself; pino's loggers fit. */
export interface ConnectionLogger {
  info(fields: object, message: string): void;
  warn(fields: object, message: string): void;
}

export interface ConnectionOptions {
  /** Shown in the server's CLIENT LIST and in the log, such as `edge-commands`. */
  readonly name: string;
  readonly logger: ConnectionLogger;
  /**
   * Milliseconds without an answer after which the connection counts as dead: it is opened anew and what was in flight
   * fails (default 5000; the cache's default is 1000). One timer a connection; one a command cost as much as the rest of it.
   */
  readonly silenceLimitMs?: number;
}

export interface BlockingOptions extends Omit<ConnectionOptions, 'silenceLimitMs'> {
  /** The longest BLOCK, in milliseconds, that is asked for on this connection. */
  readonly longestBlockMs: number;
}

export interface SubscriberOptions extends ConnectionOptions {
  /** Sharded channels, subscribed to again after every loss of the connection. */
  readonly channels: readonly string[];
  /** Called each time the subscription stands: what was published before may have been missed. */
  readonly onSubscribed?: () => void;
}

/** Beyond its longest block, or its pings, a silent socket counts as dead and is opened anew. */
const graceMs = 5_000;
/** The same of blocking reads, on which all work waits: soon enough to go on within five seconds. */
const blockingGraceMs = 2_500;
/** How often a subscriber, which else only listens, checks that its socket still lives. */
const pingEveryMs = 5_000;
const resubscribeAfterMs = 1_000;

/**
 * For commands to the stream role. A command fails at once while the server is away, and when the connection breaks or
 * stays silent: nothing is queued, nothing is sent twice (whether it was carried out is not known, and the caller
 * decides). Commands of one turn of the event loop travel in one write.
 */
export function connectCommands(url: string, options: ConnectionOptions): Redis {
  return gathering(open(url, options, { socketTimeout: options.silenceLimitMs ?? 5_000 }));
}

/** As `connectCommands`, for the cache role: it is better to miss than to wait. */
export function connectCache(url: string, options: ConnectionOptions): Redis {
  return gathering(open(url, options, { socketTimeout: options.silenceLimitMs ?? 1_000 }));
}

/** For blocking reads alone; one that is cut off by a lost connection is rejected, never repeated by itself. */
export function connectBlocking(url: string, options: BlockingOptions): Redis {
  return open(url, options, { socketTimeout: options.longestBlockMs + blockingGraceMs });
}

/** For listening; messages arrive as the client's `smessageBuffer` events. */
export function connectSubscriber(url: string, options: SubscriberOptions): Redis {
  const client = open(url, options, {
    socketTimeout: (options.silenceLimitMs ?? 5_000) + graceMs,
    // The library would subscribe again by itself, but a refusal then rejects a promise that nobody holds.
    autoResubscribe: false,
  });
  const warn = atMostOnceASecond(options);
  const subscribe = () => {
    Promise.all(options.channels.map((channel) => client.ssubscribe(channel))).then(
      () => options.onSubscribed?.(),
      (error: unknown) => {
        warn(error, 'subscribing failed');
        // A lost connection comes back here through its own ready event.
        setTimeout(() => client.status === 'ready' && subscribe(), resubscribeAfterMs).unref();
      },
    );
  };
  client.on('ready', subscribe);
  keepAsking(client);
  return client;
}

/**
 * Waits until a connection can be used.
 * @throws Error naming the last problem when that takes longer than `limitMs`
 */
export function untilReady(client: Redis, limitMs: number): Promise<void> {
  if (client.status === 'ready') return Promise.resolve();
  return new Promise((resolve, reject) => {
    let problem: unknown;
    const noteProblem = (error: unknown) => (problem = error);
    const settle = (finish: () => void) => () => {
      clearTimeout(timer);
      client.off('ready', ready).off('end', ended).off('error', noteProblem);
      finish();
    };
    const refuse = (what: string) => () =>
      reject(
        new Error(`Redis at ${address(client)} ${what}${problem ? `: ${messageOf(problem)}` : ''}`, { cause: problem }),
      );
    const ready = settle(resolve);
    const ended = settle(refuse('was closed before it was ready'));
    const timer = setTimeout(settle(refuse(`is not ready after ${limitMs} ms`)), limitMs);
    client.on('ready', ready).on('end', ended).on('error', noteProblem);
  });
}

type OwnSettings = Pick<RedisOptions, 'socketTimeout' | 'autoResubscribe'>;

function open(url: string, options: Pick<ConnectionOptions, 'name' | 'logger'>, own: OwnSettings): Redis {
  const client = new Redis(url, {
    connectionName: options.name,
    enableOfflineQueue: false,
    // Together: what was in flight when the connection broke is rejected there and then.
    maxRetriesPerRequest: 0,
    autoResendUnfulfilledCommands: false,
    retryStrategy: reconnectDelay,
    connectTimeout: 5_000,
    // A server that has just started says itself how long it will load, in whole seconds.
    maxLoadingRetryTime: 250,
    keepAlive: 10_000,
    ...own,
  });
  reportTrouble(client, options);
  return client;
}

/**
 * Makes a client gather what it writes within one turn of the event loop into one write. Measured against the library's
 * automatic pipelines: the same number of system calls, one copy of the data fewer, a third less CPU per command.
 */
function gathering(client: Redis): Redis {
  client.on('connect', () => {
    const { stream } = client;
    const write = stream.write.bind(stream);
    let gathers = false;
    const flush = () => {
      gathers = false;
      stream.uncork();
    };
    // The library gives a command alone, never an encoding or a callback.
    stream.write = (command: string | Uint8Array) => {
      if (!gathers) {
        gathers = true;
        stream.cork();
        setImmediate(flush);
      }
      return write(command);
    };
  });
  return client;
}

/** Milliseconds before the n-th attempt to reconnect (from 1): doubling from 50 to 1000, half of it at random. */
export function reconnectDelay(attempt: number): number {
  const ceiling = Math.min(50 * 2 ** (attempt - 1), 1_000);
  return Math.round(ceiling / 2 + (Math.random() * ceiling) / 2);
}

function reportTrouble(client: Redis, options: Pick<ConnectionOptions, 'name' | 'logger'>): void {
  const warn = atMostOnceASecond(options);
  let troubled = false;
  const note = (what: string) => (error: unknown) => {
    troubled = true;
    warn(error, what);
  };
  client.on('error', note('connection to Redis in trouble'));
  client.on('reconnecting', () => note('connection to Redis lost')(undefined));
  client.on('ready', () => {
    if (troubled)
      options.logger.info({ connection: options.name, address: address(client) }, 'connected to Redis again');
    troubled = false;
  });
}

/** A warning that leaves out, but counts, what comes within a second of the last one. */
function atMostOnceASecond(
  options: Pick<ConnectionOptions, 'name' | 'logger'>,
): (error: unknown, what: string) => void {
  let quietUntil = 0;
  let leftOut = 0;
  return (error, what) => {
    const now = performance.now();
    if (now < quietUntil) {
      leftOut += 1;
      return;
    }
    const reason = error === undefined ? {} : { error: messageOf(error) };
    options.logger.warn({ connection: options.name, ...reason, leftOut }, what);
    quietUntil = now + 1_000;
    leftOut = 0;
  };
}

/** A ping that stays unanswered leaves the socket silent, and the socket timeout does the rest. */
function keepAsking(client: Redis): void {
  const timer = setInterval(() => {
    if (client.status === 'ready') client.ping().catch(() => undefined);
  }, pingEveryMs);
  timer.unref();
  client.once('end', () => clearInterval(timer));
}

/** Host and port alone: a URL may hold a password. */
function address(client: Redis): string {
  const { path, host, port } = client.options;
  return path ?? `${host ?? ''}:${String(port ?? '')}`;
}

function messageOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  // Trying several addresses of a host fails with a collection of errors that has no message of its own.
  if (error instanceof AggregateError && error.message === '') return error.errors.map(messageOf).join('; ');
  return error.message;
}
