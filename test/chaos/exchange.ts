import { request as httpRequest, type Agent, type IncomingHttpHeaders, type IncomingMessage } from 'node:http';

/** One HTTP request as a client makes it. */
export interface Asking {
  readonly url: string;
  readonly method: 'GET' | 'POST';
  readonly agent: Agent | undefined;
  readonly headers: Readonly<Record<string, string | number>>;
  readonly body?: string | Buffer;
  /** Milliseconds that the client waits for the whole answer. */
  readonly limitMs: number;
  /** The client goes away after so many milliseconds. */
  readonly abortAfterMs?: number | undefined;
}

/** How it ended; of a connection that broke, with what had come until then. */
export type Reply =
  | { readonly end: 'answered'; readonly status: number; readonly headers: IncomingHttpHeaders; readonly body: string }
  | { readonly end: 'broken'; readonly error: string; readonly body: string }
  | { readonly end: 'unanswered' | 'aborted'; readonly body: string };

/** Makes one request and resolves, always. */
export function exchange({ url, limitMs, abortAfterMs, body, ...options }: Asking): Promise<Reply> {
  return new Promise((resolve) => {
    const request = httpRequest(url, options);
    const timers: NodeJS.Timeout[] = [];
    const chunks: Buffer[] = [];
    const come = () => Buffer.concat(chunks).toString();
    const settle = (reply: Reply) => {
      for (const timer of timers) clearTimeout(timer);
      resolve(reply);
      request.destroy();
    };
    request.on('error', (error: NodeJS.ErrnoException) =>
      settle({ end: 'broken', error: error.code ?? error.message, body: come() }),
    );
    request.on('response', (response) => {
      readAll(response, chunks).then(
        () => settle({ end: 'answered', status: response.statusCode ?? 0, headers: response.headers, body: come() }),
        (error: unknown) => settle({ end: 'broken', error: String(error), body: come() }),
      );
    });
    // Where this process was held up itself, what has arrived meanwhile is read before a request counts as unanswered.
    const giveUp = () => setImmediate(() => setTimeout(() => settle({ end: 'unanswered', body: come() }), 100));
    timers.push(setTimeout(giveUp, limitMs));
    if (abortAfterMs !== undefined) {
      timers.push(setTimeout(() => settle({ end: 'aborted', body: come() }), abortAfterMs));
    }
    request.end(body);
  });
}

async function readAll(response: IncomingMessage, chunks: Buffer[]): Promise<void> {
  for await (const chunk of response) chunks.push(chunk as Buffer);
}

export function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
