import { setTimeout as sleep } from 'node:timers/promises';
import * as z from 'zod';
import { problemIn, recordOf, toldBy, type Client, type Clients, type End, type Intent } from './client.js';
import { exchange, parsed, type Reply } from './exchange.js';
import type { Tenant } from './tenants.js';
import { times } from './times.js';

const again = { everyMs: 100, waitSeconds: 2, limitMs: 4_000 };
const viewSchema = z.object({
  id: z.string(),
  state: z.string(),
  answer: z.unknown().optional(),
  problem: z.unknown().optional(),
});
type View = z.infer<typeof viewSchema>;

/**
 * The kind that comes back for its answer: it sends under an Idempotency-Key, to another edge where a connection fails,
 * and asks any edge until the task has ended. In between, and at the end, a stranger asks for it.
 */
export function createLaterClient(clients: Clients): Client {
  return async (intent) => {
    const sentAt = Date.now();
    const until = sentAt + intent.deadlineMs + times.answerGraceMs;
    const tenant = intent.id.endsWith('0') ? 'other' : 'one';
    const asker = createAsker(clients, intent, until);
    const accepted = await asker.untilAnswered((edge) => accepting(clients, intent, tenant, edge));
    const location = accepted.end === 'answered' && accepted.status === 202 ? accepted.headers.location : undefined;
    if (location === undefined) return recordOf(intent, sentAt, withoutTask(intent, accepted));
    const seen = [await asker.stranger(location, tenant)];
    const end = await follow(asker, intent, location, tenant);
    // Whoever was told of an end is told the same by any edge, and a stranger still nothing.
    const later = end.end === 'answered' ? await asker.once(location, tenant) : undefined;
    seen.push(await asker.stranger(location, tenant), changed(end, later));
    const wrong = seen.find((what) => what !== undefined);
    return recordOf(intent, sentAt, wrong === undefined ? end : { ...end, wrong });
  };
}

function accepting({ edges, model, tokens }: Clients, intent: Intent, tenant: Tenant, edge: number) {
  const { id, deadlineMs, picture } = intent;
  return exchange({
    ...{ url: `${edges[edge]?.url ?? ''}/v1/models/${model}/predict`, method: 'POST', agent: edges[edge]?.agent },
    headers: {
      ...{ 'content-type': 'image/jpeg', 'x-timeout-ms': deadlineMs, 'x-request-id': id, 'idempotency-key': id },
      ...{ prefer: 'respond-async', authorization: `Bearer ${tokens[tenant]}` },
    },
    ...{ body: picture.bytes, limitMs: again.limitMs },
  });
}

type Asker = ReturnType<typeof createAsker>;

function createAsker({ edges, tokens }: Clients, intent: Intent, until: number) {
  let turn = intent.edge;
  const get = (edge: number, path: string, tenant: Tenant, waitSeconds: number) =>
    exchange({
      ...{ url: `${edges[edge]?.url ?? ''}${path}`, method: 'GET', agent: edges[edge]?.agent },
      headers: { authorization: `Bearer ${tokens[tenant]}`, prefer: `wait=${String(waitSeconds)}` },
      limitMs: again.limitMs,
    });
  /** One edge after the other, until one answers or the time is over. */
  const untilAnswered = async (ask: (edge: number) => Promise<Reply>): Promise<Reply> => {
    for (;;) {
      const reply = await ask(turn % edges.length);
      const isDone = reply.end === 'answered' && reply.status !== 503;
      if (isDone || Date.now() > until || isShed(reply)) return reply;
      turn += 1;
      await sleep(again.everyMs);
    }
  };
  return {
    until,
    untilAnswered,
    next: (path: string, tenant: Tenant) => untilAnswered((edge) => get(edge, path, tenant, again.waitSeconds)),
    once: (path: string, tenant: Tenant) => get((turn + 1) % edges.length, path, tenant, 0),
    /** What is wrong where another tenant learns anything of a task. */
    stranger: async (path: string, tenant: Tenant): Promise<string | undefined> => {
      const reply = await get(turn % edges.length, path, tenant === 'one' ? 'other' : 'one', 0);
      if (reply.end !== 'answered' || [404, 503].includes(reply.status)) return undefined;
      return `another tenant was answered ${String(reply.status)}`;
    },
  };
}

function isShed(reply: Reply): boolean {
  return reply.end === 'answered' && reply.status === 503 && problemIn(parsed(reply.body)).code === 'overloaded';
}

async function follow(asker: Asker, intent: Intent, location: string, tenant: Tenant): Promise<End> {
  for (;;) {
    const reply = await asker.next(location, tenant);
    if (reply.end !== 'answered')
      return reply.end === 'broken' ? { end: 'broken', error: reply.error } : { end: reply.end };
    if (reply.status !== 200) return { end: 'answered', status: reply.status, ...problemIn(parsed(reply.body)) };
    const view = viewSchema.safeParse(parsed(reply.body));
    if (!view.success) return { end: 'answered', status: 200, wrong: 'a task in another form' };
    if (!['waiting', 'pending'].includes(view.data.state)) return ended(intent, view.data);
    if (Date.now() > asker.until) return { end: 'unanswered' };
  }
}

function ended(intent: Intent, { state, answer, problem }: View): End {
  if (state === 'succeeded') return { end: 'answered', status: 200, cache: 'later', ...toldBy(intent.picture, answer) };
  return { end: 'answered', status: state === 'expired' ? 504 : 500, ...problemIn(problem) };
}

/** A request that was not accepted, or answered at once. */
function withoutTask(intent: Intent, reply: Reply): End {
  if (reply.end === 'broken') return { end: 'broken', error: reply.error };
  if (reply.end !== 'answered') return { end: reply.end };
  const told = reply.status === 200 ? toldBy(intent.picture, parsed(reply.body)) : problemIn(parsed(reply.body));
  return { end: 'answered', status: reply.status, cache: 'later', ...told };
}

/** What is wrong where a task that had ended is told of in another way; it may be found no longer, or not be asked for. */
function changed(told: End, later: Reply | undefined): string | undefined {
  if (later?.end !== 'answered' || later.status !== 200 || told.status === 404) return undefined;
  const view = viewSchema.safeParse(parsed(later.body));
  const isSame = view.success && (view.data.state === 'succeeded') === (told.status === 200);
  return isSame ? undefined : `was told of another end: ${later.body.slice(0, 200)}`;
}
