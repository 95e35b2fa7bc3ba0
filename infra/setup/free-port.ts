import { createServer } from 'node:net';

const host = '127.0.0.1';

/**
 * A TCP port that nobody listens on at the moment, on 127.0.0.1.
 * @param preferred taken when it is free; else the next free one of the hundred above it, else any
 * @param taken ports that were given away already but are not listened on yet
 */
export async function freePort(preferred = 0, taken: ReadonlySet<number> = new Set()): Promise<number> {
  if (preferred > 0) {
    for (let port = preferred; port < Math.min(preferred + 100, 65_536); port += 1) {
      if (!taken.has(port) && (await tryPort(port)) !== undefined) return port;
    }
  }
  for (;;) {
    const port = await tryPort(0);
    if (port !== undefined && !taken.has(port)) return port;
  }
}

/** Listens for a moment; the port that was got, or undefined where somebody else has it. */
function tryPort(port: number): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE' || error.code === 'EACCES') resolve(undefined);
      else reject(error);
    });
    server.listen({ port, host, exclusive: true }, () => {
      const address = server.address();
      const got = typeof address === 'object' ? address?.port : undefined;
      server.close(() => resolve(got));
    });
  });
}
