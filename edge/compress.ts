import { addVary } from './vary.js';
import { weightsIn } from './weights.js';

/**
 * Lengths from which an answer is compressed. Even the shortest takes 0.2 ms of CPU, six times what a whole lookup takes:
 * text (lists, tasks, batches, documents) is rare enough for that, predictions are compressed where they are long.
 */
const leastText = 1024;
const leastPrediction = 8 * 1024;
const compressible = /^(?:text\/|application\/(?:[\w.-]+\+)?json\b)/;

/** Whether an answer may be compressed at all; the one question that every answer is asked. */
export function isLong(body: Uint8Array | string): boolean {
  return body.length >= (typeof body === 'string' ? leastText : leastPrediction);
}

/**
 * Decides whether a long answer is compressed, and says so in its headers.
 * @param accepted the request's accept-encoding
 */
export function negotiateGzip(accepted: string | undefined, headers: Record<string, string>): boolean {
  if (headers['content-encoding'] !== undefined || !compressible.test(headers['content-type'] ?? '')) return false;
  addVary(headers, 'accept-encoding');
  if (!prefersGzip(accepted)) return false;
  headers['content-encoding'] = 'gzip';
  const { etag } = headers;
  // A strong tag stands for the very bytes, and these are others.
  if (etag?.startsWith('"')) headers['etag'] = `W/${etag}`;
  return true;
}

/** Compresses while the client takes it. */
export function gzip(body: Uint8Array | string): ReadableStream<Uint8Array> {
  const { readable, writable } = new CompressionStream('gzip');
  const writer = writable.getWriter();
  void writer.write(typeof body === 'string' ? new TextEncoder().encode(body) : body).catch(ignore);
  void writer.close().catch(ignore);
  return readable;
}

/** The request's own order of preference (RFC 9110, 12.5.3); between equals the shorter answer; plain is always right. */
function prefersGzip(accepted: string | undefined): boolean {
  if (accepted === undefined) return false;
  const weights = weightsIn(accepted);
  const weight = weights.get('gzip') ?? weights.get('x-gzip') ?? weights.get('*') ?? 0;
  return weight > 0 && weight >= (weights.get('identity') ?? 0);
}

function ignore(): void {
  // Who gave up reading knows.
}
