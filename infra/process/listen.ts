import type { Server } from 'node:http';

/** Connections that may wait to be accepted while this process is busy; the kernel has a bound of its own. */
const backlog = 4096;

/**
 * Starts listening and answers the server's base URL, without a slash at its end.
 * @param what names the server in the message people read when the port is taken
 * @throws Error in words for people: port in use, address not ours, no permission
 */
export function listen(server: Server, host: string, port: number, what: string): Promise<string> {
  return new Promise((resolve, reject) => {
    const refuse = (error: NodeJS.ErrnoException) =>
      reject(new Error(`${what}: ${reason(error, host, port)}`, { cause: error }));
    server.once('error', refuse);
    server.listen({ host, port, backlog }, () => {
      server.off('error', refuse);
      const address = server.address();
      const bound = typeof address === 'object' && address !== null ? address.port : port;
      resolve(`http://${host.includes(':') ? `[${host}]` : host}:${bound}`);
    });
  });
}

/** Stops listening and ends every connection, also those that are kept alive. */
export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}

function reason(error: NodeJS.ErrnoException, host: string, port: number): string {
  if (error.code === 'EADDRINUSE') return `port ${port} on ${host} is in use by another program`;
  if (error.code === 'EACCES') return `no permission to listen on port ${port} of ${host}`;
  if (error.code === 'EADDRNOTAVAIL' || error.code === 'ENOTFOUND') return `${host} is not an address of this machine`;
  return error.message;
}
