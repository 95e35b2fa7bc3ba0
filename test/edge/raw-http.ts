import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** Opens a connection to an edge; that it is reset is for the test to see in what came. */
export async function openRaw(url: string): Promise<Socket> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1');
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

/** Sends characters as the bytes they are (Latin-1), and gives all that comes until the edge closes the connection. */
export async function exchange(url: string, text: string): Promise<string> {
  const socket = await openRaw(url);
  socket.write(Buffer.from(text, 'latin1'));
  return readAll(socket);
}

/** All that comes until the other side closes the connection. */
export async function readAll(socket: Socket): Promise<string> {
  const pieces: Buffer[] = [];
  socket.on('data', (piece: Buffer) => pieces.push(piece));
  await once(socket, 'close');
  return Buffer.concat(pieces).toString('latin1');
}

/** The head of an answer: its status, and its fields by their names in lower case. */
export interface Head {
  readonly status: number;
  readonly fields: ReadonlyMap<string, string>;
}

/** Takes an answer's head off what came, and leaves the rest. */
export function splitHead(text: string): { head: Head; rest: string } {
  const end = text.indexOf('\r\n\r\n');
  if (end < 0) throw new Error(`no answer is complete in: ${text}`);
  const [statusLine = '', ...lines] = text.slice(0, end).split('\r\n');
  const fields = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
  });
  const status = Number(/^HTTP\/1\.1 (\d{3}) /.exec(statusLine)?.[1]);
  return { head: { status, fields: new Map(fields) }, rest: text.slice(end + 4) };
}
