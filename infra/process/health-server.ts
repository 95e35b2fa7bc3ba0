import { createServer, type ServerResponse } from 'node:http';
import { closeServer, listen } from './listen.js';

export interface Readiness {
  readonly ready: boolean;
  /** Why not, for people; empty when ready. */
  readonly reasons: readonly string[];
}

export interface HealthServerOptions {
  readonly host: string;
  /** 0 takes any free port. */
  readonly port: number;
  /** False when only a restart can help. Asked on every call, so it must be cheap and must not wait. */
  live(): boolean;
  /** Whether work may be expected of this process now. Same rules. */
  ready(): Readiness;
  /** Further members for the body of /readyz: models, device, whatever tells an operator more. */
  describe?(): object;
}

export interface HealthServer {
  /** Base URL without a slash at its end. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves `GET /healthz` (200 live, 503 not) and `GET /readyz` (200 ready, 503 with reasons) as JSON; all else is 404.
 * @throws Error in words for people when the port cannot be had
 */
export async function startHealthServer(options: HealthServerOptions): Promise<HealthServer> {
  const server = createServer((request, response) => {
    const path = request.url?.split('?', 1)[0];
    if (request.method !== 'GET' && request.method !== 'HEAD') answer(response, 405, { allow: 'GET, HEAD' });
    else if (path === '/healthz') answerLive(response, options.live());
    else if (path === '/readyz') answerReady(response, options.ready(), options.describe?.() ?? {});
    else answer(response, 404, {});
  });
  const url = await listen(server, options.host, options.port, 'health server');
  // A process that has nothing else to do may end although it could still be asked how it is.
  server.unref();
  return { url, close: () => closeServer(server) };
}

function answerLive(response: ServerResponse, live: boolean): void {
  answer(response, live ? 200 : 503, {}, { status: live ? 'live' : 'not live' });
}

function answerReady(response: ServerResponse, { ready, reasons }: Readiness, described: object): void {
  answer(response, ready ? 200 : 503, {}, { status: ready ? 'ready' : 'not ready', reasons, ...described });
}

function answer(response: ServerResponse, status: number, headers: Record<string, string>, body?: object): void {
  const text = body ? `${JSON.stringify(body)}\n` : '';
  const type = body ? { 'content-type': 'application/json' } : {};
  response.writeHead(status, {
    ...headers,
    ...type,
    'cache-control': 'no-store',
    'content-length': Buffer.byteLength(text),
  });
  response.end(response.req.method === 'HEAD' ? undefined : text);
}
