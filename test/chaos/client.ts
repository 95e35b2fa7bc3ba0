import { Agent } from 'node:http';
import * as z from 'zod';
import { exchange, parsed, type Reply } from './exchange.js';
import type { Sent } from './gallery.js';
import type { RequestRecord } from './record.js';
import type { Tenant } from './tenants.js';
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

/** What all clients share. */
export interface Clients {
  /** Base URLs, and a pool of connections to each. */
  readonly edges: readonly { readonly url: string; readonly agent: Agent }[];
  readonly model: string;
  readonly tokens: Readonly<Record<Tenant, string>>;
}

/** Connections are kept alive, and there are at most `mostSockets` to each edge. */
export function connectionsTo(edges: readonly string[], mostSockets: number): Clients['edges'] {
  return edges.map((url) => ({ url, agent: new Agent({ keepAlive: true, maxSockets: mostSockets }) }));
}

/** The kind that waits for its answer. */
export function createClient({ edges, model, tokens }: Clients): Client {
  return async (intent) => {
    const sentAt = Date.now();
    const edge = edges[intent.edge];
    const reply = await exchange({
      ...{ url: `${edge?.url ?? ''}/v1/models/${model}/predict`, method: 'POST', agent: edge?.agent },
      headers: {
        ...{ 'content-type': 'image/jpeg', 'x-timeout-ms': intent.deadlineMs, 'x-request-id': intent.id },
        authorization: `Bearer ${tokens.one}`,
      },
      ...{ body: intent.picture.bytes, abortAfterMs: intent.abortAfterMs },
      limitMs: intent.deadlineMs + times.answerGraceMs,
    });
    return recordOf(intent, sentAt, endOf(intent, reply));
  };
}

export type End = Pick<RequestRecord, 'end'> & Partial<RequestRecord>;

export function recordOf(intent: Intent, sentAt: number, end: End): RequestRecord {
  const { id, why, edge, picture, deadlineMs } = intent;
  return { id, md5: picture.md5, why, edge, sentAt, deadlineMs, endedAt: Date.now(), ...end };
}

/** What a client notes of a reply. */
export function endOf(intent: Intent, reply: Reply): End {
  if (reply.end === 'broken') return { end: 'broken', error: reply.error };
  if (reply.end !== 'answered') return { end: reply.end };
  const { status, headers, body } = reply;
  const { 'x-cache': cache, 'x-request-id': echoed } = headers;
  const stranger = echoed === intent.id ? {} : { wrong: `the answer to ${String(echoed)}` };
  const own = { end: 'answered', status, ...(typeof cache === 'string' ? { cache } : {}) } as const;
  const told = status === 200 ? toldBy(intent.picture, parsed(body)) : problemIn(parsed(body));
  return { ...own, ...told, ...stranger };
}

const answerSchema = z.object({ id: z.string(), predictions: z.unknown() });
const problemSchema = z.object({ code: z.string(), retryable: z.boolean() });

/** What an answer tells: the task that made it, and whether it is about this picture. */
export function toldBy(picture: Sent, body: unknown): Partial<RequestRecord> {
  const answer = answerSchema.safeParse(body);
  if (!answer.success) return { wrong: 'an answer in another form' };
  const wrong = picture.wrong(answer.data.predictions);
  return { task: answer.data.id, ...(wrong === undefined ? {} : { wrong }) };
}

export function problemIn(body: unknown): Partial<RequestRecord> {
  const problem = problemSchema.safeParse(body);
  return problem.success ? problem.data : { wrong: 'a problem in another form' };
}
