import { connect, type Socket } from 'node:net';

/** One request at a time over one kept connection; as little work as will do, so that who generates load has room. */
export interface HttpConnection {
  /** Sends a request as it stands; resolves with the status once the whole answer has come. */
  ask(head: string, body: Buffer | undefined): Promise<number>;
  /** Whether another request may be sent. */
  readonly isOpen: boolean;
  close(): void;
}

/** @throws Error when the server is not there */
export async function openConnection(host: string, port: number): Promise<HttpConnection> {
  const socket = connect({ host, port, noDelay: true });
  await new Promise<void>((resolve, reject) => {
    socket.once('connect', resolve);
    socket.once('error', reject);
  });
  const state: { finish?: (status: number) => void; fail?: (error: Error) => void } = {};
  const reading = answerReader((status) => state.finish?.(status));
  socket.on('data', (chunk: Buffer) => {
    try {
      reading(chunk);
    } catch (error) {
      socket.destroy(error instanceof Error ? error : new Error(String(error)));
    }
  });
  socket.on('error', (error) => state.fail?.(error));
  socket.on('close', () => state.fail?.(new Error('the server closed the connection')));
  return {
    ask: (head, body) =>
      new Promise((resolve, reject) => {
        if (socket.destroyed) {
          reject(new Error('the server closed the connection'));
          return;
        }
        state.finish = resolve;
        state.fail = reject;
        send(socket, head, body);
      }),
    get isOpen() {
      return !socket.destroyed && socket.writable;
    },
    close: () => socket.destroy(),
  };
}

function send(socket: Socket, head: string, body: Buffer | undefined): void {
  if (body === undefined) {
    socket.write(head, 'latin1');
    return;
  }
  socket.cork();
  socket.write(head, 'latin1');
  socket.write(body);
  socket.uncork();
}

/** Reads answers with a Content-Length, one after the other. */
function answerReader(finished: (status: number) => void): (chunk: Buffer) => void {
  let head = '';
  let status = 0;
  let left = -1;
  return (chunk) => {
    let rest = chunk.length;
    if (left < 0) {
      head += chunk.toString('latin1');
      const end = head.indexOf('\r\n\r\n');
      if (end < 0) return;
      status = Number(head.slice(9, 12));
      const length = /\r\ncontent-length: *(\d+)/i.exec(head.slice(0, end))?.[1];
      if (length === undefined && status !== 204 && status !== 304) throw new Error(`no Content-Length: ${head}`);
      left = Number(length ?? 0);
      rest = head.length - end - 4;
      head = '';
    }
    left -= rest;
    if (left > 0) return;
    if (left < 0) throw new Error('more came than was announced');
    left = -1;
    finished(status);
  };
}
