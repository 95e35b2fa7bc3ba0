import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** What went over a way to Redis since it was opened or last asked about. */
export interface WireCount {
  /** Bytes towards the server. */
  readonly sent: number;
  readonly received: number;
  /** Times that the server was told something of the kind that is looked for, after it had spoken last: round trips. */
  readonly turns: number;
}

export interface WireCounter {
  readonly url: string;
  /** What came together since the last call, over all connections. */
  take(): WireCount;
}

/**
 * A way to the Redis at a port of this host on which bytes and round trips are counted.
 * @param concerns whether what is sent counts as a turn; heartbeats and the like go the same way
 * @param after registers what ends it
 */
export async function startWireCounter(
  redisPort: number,
  concerns: (sent: Buffer) => boolean,
  after: (end: () => Promise<void>) => void,
): Promise<WireCounter> {
  let count = { sent: 0, received: 0, turns: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const upstream = connect(redisPort, '127.0.0.1');
    let speaking: 'client' | 'server' = 'server';
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true).on('error', () => undefined);
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => {
      count.sent += chunk.length;
      if (speaking === 'server' && concerns(chunk)) count.turns++;
      speaking = 'client';
      upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      count.received += chunk.length;
      speaking = 'server';
      client.write(chunk);
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  after(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  return {
    url: `redis://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    take: () => {
      const taken = count;
      count = { sent: 0, received: 0, turns: 0 };
      return taken;
    },
  };
}
