import { createServer } from 'node:http';
import type { PrometheusExporter } from '@opentelemetry/exporter-prometheus';
import { closeServer, listen } from './listen.js';

export interface MetricsServer {
  /** Full URL of the exposition. */
  readonly url: string;
  close(): Promise<void>;
}

/**
 * Serves an exporter's metrics under `/metrics`. The exporter's own server cannot take a free port, nor say in words
 * that a port is in use.
 */
export async function startMetricsServer(
  host: string,
  port: number,
  exporter: PrometheusExporter,
): Promise<MetricsServer> {
  const server = createServer((request, response) => {
    if (request.url?.split('?', 1)[0] === '/metrics') exporter.getMetricsRequestHandler(request, response);
    else response.writeHead(404).end();
  });
  const base = await listen(server, host, port, 'metrics server');
  server.unref();
  return { url: `${base}/metrics`, close: () => closeServer(server) };
}
