import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { after } from 'node:test';

/** A way to a server on which answers can be held back, as a slow network holds them. */
export interface HoldingProxy {
  readonly url: string;
  /** From now on answers are kept. */
  hold(): void;
  /** Lets the kept ones go, and all that follow. */
  release(): void;
}

/** Starts a proxy in front of a Redis on this host; it is closed when the file ends. */
export async function holdingProxy(port: number): Promise<HoldingProxy> {
  const sockets = new Set<Socket>();
  const upstreams = new Set<Socket>();
  let held = false;
  const server = createServer((client) => {
    const upstream = connect(port, '127.0.0.1');
    upstreams.add(upstream);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', () => undefined);
    }
    client.pipe(upstream);
    upstream.pipe(client);
    if (held) upstream.pause();
    client.once('close', () => upstream.destroy());
    upstream.once('close', () => client.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  return {
    url: `redis://127.0.0.1:${(server.address() as AddressInfo).port}`,
    hold: () => {
      held = true;
      for (const upstream of upstreams) upstream.pause();
    },
    release: () => {
      held = false;
      for (const upstream of upstreams) upstream.resume();
    },
  };
}
