import { Buffer } from 'node:buffer';

const newline = 0x0a;

/** A line of JSON and the bytes behind it: readable in redis-cli, yet the body may be anything. */
export function joinFrame(head: unknown, bodies: readonly Uint8Array[]): Buffer {
  const line = `${JSON.stringify(head)}\n`;
  const lineLength = Buffer.byteLength(line);
  const frame = Buffer.allocUnsafe(bodies.reduce((sum, body) => sum + body.length, lineLength));
  let at = frame.write(line);
  for (const body of bodies) {
    frame.set(body, at);
    at += body.length;
  }
  return frame;
}

/** Splits what joinFrame made; undefined where it is no frame. The body is a view, not a copy. */
export function splitFrame(frame: Buffer): { readonly head: unknown; readonly body: Buffer } | undefined {
  const end = frame.indexOf(newline);
  if (end < 0) return undefined;
  try {
    const head: unknown = JSON.parse(frame.toString('utf8', 0, end));
    return { head, body: frame.subarray(end + 1) };
  } catch {
    return undefined;
  }
}
