import { createServer, IncomingMessage, ServerResponse, type Server } from 'node:http';
import { getRequestListener } from '@hono/node-server';
import type { Hono } from 'hono';
import { discardRest } from './body/discard-rest.js';
import { isBeingRead } from './body/read-node-body.js';
import { answerRefused, answerUnparsed } from './node-refused.js';
import type { EdgeEnv } from './request.js';

/** A proxy in front must not find a connection closed that it has just chosen: its own limit is 60 s as a rule. */
const keepAliveMs = 65_000;
/** Milliseconds that a client may take to send a request's headers; whoever reads a body bounds that. */
const headersLimitMs = 60_000;
const closePollMs = 50;

/** How long a client may go on sending whose body nobody reads any more. */
const lingerMs = 2_000;

/**
 * Serves an app on Node's HTTP server, not yet listening. A request that is answered before its body has arrived (too
 * large, unknown model) keeps its answer: what is still on its way is thrown away, within bounds.
 * @param silenceMs after which a connection is cut on which nothing has moved, such as one whose client does not read
 */
export function createNodeServer(app: Hono<EdgeEnv>, silenceMs: number): Server {
  const listener = getRequestListener(
    (request, bindings) => {
      const answer = app.fetch(request, bindings);
      const { incoming, outgoing } = bindings;
      if (!(incoming instanceof IncomingMessage && outgoing instanceof ServerResponse)) return answer;
      return outgoing.shouldKeepAlive || !hasBody(incoming) ? answer : afterBody(answer, incoming);
    },
    // The host is only for clients of HTTP/1.0, which need not name one.
    { autoCleanupIncoming: false, errorHandler: answerRefused, hostname: 'localhost' },
  );
  const server = createServer({ keepAliveTimeout: keepAliveMs, headersTimeout: headersLimitMs, requestTimeout: 0 });
  server.timeout = silenceMs;
  server.on('request', (incoming, outgoing) => {
    if (hasBody(incoming)) outgoing.once('finish', () => endBody(incoming));
    void listener(incoming, outgoing);
  });
  // Who asks before it sends is told to go on by whoever reads the body, or is answered without.
  server.on('checkContinue', (incoming, outgoing) => server.emit('request', incoming, outgoing));
  server.on('clientError', answerUnparsed);
  return server;
}

/**
 * Stops accepting, lets what is in flight finish, and then closes.
 * @param limitMs after which connections are cut
 * @returns whether everything was finished in time
 */
export function closeGracefully(server: Server, limitMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    let inTime = true;
    // A connection falls idle when its answer is out, and would then be kept alive.
    const idle = setInterval(() => server.closeIdleConnections(), closePollMs);
    const limit = setTimeout(() => {
      inTime = false;
      server.closeAllConnections();
    }, limitMs);
    server.close(() => {
      clearInterval(idle);
      clearTimeout(limit);
      resolve(inTime);
    });
  });
}

/** After the answer: the rest of the body goes, or, where a reader was left waiting for it, the connection. */
function endBody(incoming: IncomingMessage): void {
  if (!isBeingRead(incoming)) {
    void discardRest(incoming);
    return;
  }
  const { socket } = incoming;
  socket.end();
  const timer = setTimeout(() => socket.destroy(), lingerMs);
  socket.once('close', () => {
    clearTimeout(timer);
    // Node tells nobody who reads a body whose request was answered.
    incoming.destroy();
  });
}

/** Node closes a connection that is not kept alive right behind the answer, so here the rest of the body goes first. */
async function afterBody(answer: Response | Promise<Response>, incoming: IncomingMessage): Promise<Response> {
  const response = await answer;
  if (incoming.headers.expect === undefined && !isBeingRead(incoming)) await discardRest(incoming);
  return response;
}

function hasBody({ headers }: IncomingMessage): boolean {
  return headers['transfer-encoding'] !== undefined || (headers['content-length'] ?? '0') !== '0';
}
