import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { requestFollower, type RequestFollower } from './request-follower.js';

/** The network between clients and a Redis on this host, with the faults that a network has. */
export interface FaultProxy {
  readonly port: number;
  readonly url: string;
  /** How many connections are open now. */
  readonly connections: number;
  /** New connections lead to the server at this port from now on; standing ones are reset. */
  lead(port: number): void;
  /** Resets every connection, at both ends; answers how many there were. */
  reset(): number;
  /** Both directions of every connection stand still, those of new ones as well. */
  stall(): void;
  /** What stood still goes on; nothing of it was lost. */
  release(): void;
  /** The server is away: standing connections are reset, and new ones as soon as they are made. */
  refuse(): void;
  accept(): void;
  /**
   * The next request that contains the text (a transaction counts as one request) reaches the server and is run; its
   * reply is thrown away, with those of whatever is still unanswered on that connection, and the connection is reset.
   * Resolves when that has happened; rejects when the proxy is closed before.
   */
  dropReplyAfter(text: string): Promise<void>;
  /** Ends all connections and stops listening. May be called twice. */
  close(): Promise<void>;
}

/** A connection of a client, and the one that leads on to the server. */
interface Link {
  readonly client: Socket;
  readonly upstream: Socket;
  readonly follower: RequestFollower;
  /** Set once the text was seen: told when the server has run the request and said goodbye. */
  dropping: (() => void) | undefined;
}

interface Watch {
  readonly text: Buffer;
  readonly done: () => void;
  readonly fail: (error: Error) => void;
}

interface State {
  target: number;
  stalled: boolean;
  refusing: boolean;
  readonly links: Set<Link>;
  watches: Watch[];
}

/** Starts a proxy on a free port of 127.0.0.1 in front of the Redis at a port of the same host. */
export async function startFaultProxy(redisPort: number): Promise<FaultProxy> {
  const state: State = { target: redisPort, stalled: false, refusing: false, links: new Set(), watches: [] };
  const server = createServer((client) => {
    if (state.refusing) resetSocket(client.on('error', () => undefined));
    else openLink(state, client);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const reset = () => {
    const links = [...state.links];
    for (const link of links) cut(link);
    return links.length;
  };
  return {
    port,
    url: `redis://127.0.0.1:${String(port)}`,
    get connections() {
      return state.links.size;
    },
    lead: (target) => {
      state.target = target;
      reset();
    },
    reset,
    stall: () => {
      state.stalled = true;
      for (const link of state.links) setFlow(link, false);
    },
    release: () => {
      state.stalled = false;
      for (const link of state.links) setFlow(link, true);
    },
    refuse: () => {
      state.refusing = true;
      reset();
    },
    accept: () => {
      state.refusing = false;
    },
    dropReplyAfter: (text) =>
      new Promise((done, fail) => {
        state.watches.push({ text: Buffer.from(text), done, fail });
      }),
    close: async () => {
      state.refusing = true;
      for (const watch of state.watches.splice(0)) watch.fail(new Error('the proxy was closed'));
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      reset();
      await closed;
    },
  };
}

function openLink(state: State, client: Socket): void {
  const upstream = connect(state.target, '127.0.0.1');
  const link: Link = { client, upstream, follower: requestFollower(), dropping: undefined };
  state.links.add(link);
  for (const socket of [client, upstream]) socket.setNoDelay(true).on('error', () => undefined);
  client.on('data', (chunk: Buffer) => takeFromClient(state, link, chunk));
  upstream.on('data', (chunk: Buffer) => {
    if (!link.dropping) pass(state, chunk, upstream, client);
  });
  client.once('close', () => {
    state.links.delete(link);
    if (!link.dropping) upstream.destroySoon();
  });
  upstream.once('close', () => {
    if (link.dropping) {
      resetSocket(client);
      link.dropping();
    } else client.destroySoon();
  });
  if (state.stalled) setFlow(link, false);
}

function takeFromClient(state: State, link: Link, chunk: Buffer): void {
  if (link.dropping) return;
  const found = link.follower.take(
    chunk,
    state.watches.map((watch) => watch.text),
  );
  if (!found) {
    pass(state, chunk, link.client, link.upstream);
    return;
  }
  const watch = state.watches.find((one) => one.text === found.text);
  state.watches = state.watches.filter((one) => one !== watch);
  link.dropping = watch?.done ?? (() => undefined);
  // The server runs all that it was sent before it sees the end, and closes then: its close says that the request ran.
  link.upstream.end(chunk.subarray(0, found.end));
}

/** Hands bytes on; the sender waits while the taker cannot keep up. */
function pass(state: State, chunk: Buffer, from: Socket, to: Socket): void {
  if (to.write(chunk)) return;
  from.pause();
  to.once('drain', () => {
    if (!state.stalled) from.resume();
  });
}

function setFlow({ client, upstream }: Link, flows: boolean): void {
  for (const socket of [client, upstream]) {
    if (flows) socket.resume();
    else socket.pause();
  }
}

/** A reset as a broken network makes it: no goodbye, in neither direction. */
function cut({ client, upstream }: Link): void {
  resetSocket(client);
  resetSocket(upstream);
}

/**
 * Resets a connection. One that is being shut down already is closed: Node would mark its handle as closing, libuv would
 * refuse to reset it, and the process would wait for it for ever when it ends.
 */
function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}
