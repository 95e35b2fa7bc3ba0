import { Agent, request as httpRequest, type IncomingMessage } from 'node:http';
import * as z from 'zod';
import type { Sent } from './gallery.js';
import type { RequestRecord } from './record.js';
import { times } from './times.js';

/** One request as a client means to make it. */
export interface Intent {
  readonly id: string;
  readonly why: RequestRecord['why'];
  readonly picture: Sent;
  readonly edge: number;
  readonly deadlineMs: number;
  /** The client goes away after so many milliseconds. */
  readonly abortAfterMs?: number | undefined;
}

/** Sends one request and resolves, always, with what became of it. */
export type Client = (intent: Intent) => Promise<RequestRecord>;

/** Connections are kept alive, and there are at most `mostSockets` to each edge. */
export function createClient(edges: readonly string[], model: string, mostSockets: number): Client {
  const agents = edges.map(() => new Agent({ keepAlive: true, maxSockets: mostSockets }));
  return async (intent) => {
    const sentAt = Date.now();
    const url = `${edges[intent.edge] ?? ''}/v1/models/${model}/predict`;
    const end = await exchange(url, agents[intent.edge], intent);
    return {
      ...{ id: intent.id, md5: intent.picture.md5, why: intent.why, edge: intent.edge },
      ...{ sentAt, deadlineMs: intent.deadlineMs, endedAt: Date.now(), ...end },
    };
  };
}

type End = Pick<RequestRecord, 'end'> & Partial<RequestRecord>;

function exchange(url: string, agent: Agent | undefined, intent: Intent): Promise<End> {
  return new Promise((resolve) => {
    const headers = { 'content-type': 'image/jpeg', 'x-timeout-ms': intent.deadlineMs, 'x-request-id': intent.id };
    const request = httpRequest(url, { method: 'POST', agent, headers });
    const timers: NodeJS.Timeout[] = [];
    const settle = (end: End) => {
      for (const timer of timers) clearTimeout(timer);
      resolve(end);
      request.destroy();
    };
    request.on('error', (error: NodeJS.ErrnoException) =>
      settle({ end: 'broken', error: error.code ?? error.message }),
    );
    request.on('response', (response) => {
      readAll(response).then(
        (body) => settle(answered(intent, response, body)),
        (error: unknown) => settle({ end: 'broken', error: String(error) }),
      );
    });
    // Where this process was held up itself, what has arrived meanwhile is read before a request counts as unanswered.
    const giveUp = () => setImmediate(() => setTimeout(settle, 100, { end: 'unanswered' }));
    timers.push(setTimeout(giveUp, intent.deadlineMs + times.answerGraceMs));
    if (intent.abortAfterMs !== undefined) timers.push(setTimeout(settle, intent.abortAfterMs, { end: 'aborted' }));
    request.end(intent.picture.bytes);
  });
}

async function readAll(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of response) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

const answerSchema = z.object({ id: z.string(), predictions: z.unknown() });
const problemSchema = z.object({ code: z.string(), retryable: z.boolean() });

function answered(intent: Intent, response: IncomingMessage, body: string): End {
  const status = response.statusCode ?? 0;
  const cache = response.headers['x-cache'];
  const echoed = response.headers['x-request-id'];
  const stranger = echoed === intent.id ? {} : { wrong: `the answer to ${String(echoed)}` };
  const own = { end: 'answered', status, ...(typeof cache === 'string' ? { cache } : {}) } as const;
  if (status !== 200) {
    const problem = problemSchema.safeParse(parsed(body));
    return { ...own, ...stranger, ...(problem.success ? problem.data : { wrong: 'a problem in another form' }) };
  }
  const answer = answerSchema.safeParse(parsed(body));
  if (!answer.success) return { ...own, wrong: 'an answer in another form' };
  const wrong = intent.picture.wrong(answer.data.predictions);
  return { ...own, task: answer.data.id, ...(wrong === undefined ? {} : { wrong }), ...stranger };
}

function parsed(body: string): unknown {
  try {
    return JSON.parse(body);
  } catch {
    return undefined;
  }
}
