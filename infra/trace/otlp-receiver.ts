import { Buffer } from 'node:buffer';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { closeServer, listen } from '../process/listen.js';
import { readExportRequest, type ReceivedSpan } from './otlp-spans.js';

export interface OtlpReceiver {
  /** What OTEL_EXPORTER_OTLP_ENDPOINT is set to. */
  readonly url: string;
  /** Every span that arrived so far, in order of arrival. */
  spans(): readonly ReceivedSpan[];
  /** Every path that was posted to, also those that are not traces. */
  paths(): readonly string[];
  /**
   * Waits until the spans that arrived satisfy the condition, and answers them.
   * @throws Error listing what did arrive when the time is over
   */
  waitFor(condition: (spans: readonly ReceivedSpan[]) => boolean, timeoutMs: number): Promise<readonly ReceivedSpan[]>;
  close(): Promise<void>;
}

/** Takes what OTLP exporters send by default (protobuf over HTTP, uncompressed) on a free port of 127.0.0.1. */
export async function startOtlpReceiver(): Promise<OtlpReceiver> {
  const spans: ReceivedSpan[] = [];
  const paths: string[] = [];
  const waiting = new Set<() => void>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    paths.push(path);
    receive(request, response, path, (arrived) => {
      spans.push(...arrived);
      for (const check of waiting) check();
    });
  });
  const url = await listen(server, '127.0.0.1', 0, 'OTLP receiver');
  return {
    url,
    spans: () => spans,
    paths: () => paths,
    waitFor: (condition, timeoutMs) =>
      new Promise((resolve, reject) => {
        const check = () => {
          if (!condition(spans)) return;
          finish();
          resolve(spans);
        };
        const timer = setTimeout(() => {
          finish();
          reject(new Error(`after ${timeoutMs} ms these spans had arrived: ${list(spans)}`));
        }, timeoutMs);
        const finish = () => {
          clearTimeout(timer);
          waiting.delete(check);
        };
        waiting.add(check);
        check();
      }),
    close: () => closeServer(server),
  };
}

function receive(
  request: IncomingMessage,
  response: ServerResponse,
  path: string,
  arrived: (spans: ReceivedSpan[]) => void,
): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    if (path !== '/v1/traces') return response.writeHead(404).end();
    if (request.headers['content-type'] !== 'application/x-protobuf') return response.writeHead(415).end();
    try {
      arrived(readExportRequest(Buffer.concat(chunks)));
    } catch {
      return response.writeHead(400).end();
    }
    return response.writeHead(200, { 'content-type': 'application/x-protobuf' }).end();
  });
}

function list(spans: readonly ReceivedSpan[]): string {
  return spans.map((span) => `${span.service}/${span.name}`).join(', ') || 'none';
}
