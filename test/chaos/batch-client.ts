import * as z from 'zod';
import { problemIn, recordOf, toldBy, type Clients, type End, type Intent } from './client.js';
import { exchange, parsed, type Reply } from './exchange.js';
import type { RequestRecord } from './record.js';
import { times } from './times.js';

const itemSchema = z.object({
  index: z.int(),
  status: z.int(),
  answer: z.unknown().optional(),
  problem: z.unknown().optional(),
});
type Item = z.infer<typeof itemSchema>;

/** Many pictures in one request; a record for each of them. */
export type BatchClient = (intents: readonly Intent[]) => Promise<readonly RequestRecord[]>;

/** The kind that sends lines and reads them as they are done. */
export function createBatchClient({ edges, model, tokens }: Clients): BatchClient {
  return async (intents) => {
    const [first] = intents;
    if (!first) return [];
    const sentAt = Date.now();
    const edge = edges[first.edge];
    const line = ({ picture }: Intent) => `${JSON.stringify({ image: picture.bytes.toString('base64') })}\n`;
    const reply = await exchange({
      ...{ url: `${edge?.url ?? ''}/v1/models/${model}/batch`, method: 'POST', agent: edge?.agent },
      headers: {
        ...{ 'content-type': 'application/x-ndjson', accept: 'application/x-ndjson', 'x-request-id': first.id },
        ...{ 'x-timeout-ms': first.deadlineMs, authorization: `Bearer ${tokens.other}` },
      },
      body: intents.map(line).join(''),
      // Each picture may wait for its room as long as it may take then.
      limitMs: (intents.length + 1) * first.deadlineMs + times.answerGraceMs,
    });
    const items = itemsIn(reply);
    return intents.map((intent, index) => recordOf(intent, sentAt, endOfPicture(intent, index, items, reply)));
  };
}

function itemsIn({ body }: Reply): readonly Item[] {
  return body.split('\n').flatMap((line) => itemSchema.safeParse(parsed(line)).data ?? []);
}

/** A batch that broke off says why in its last item, for all that come after it. */
function endOfPicture({ picture }: Intent, index: number, items: readonly Item[], reply: Reply): End {
  const own = items.filter((item) => item.index === index);
  if (own.length > 1) return { end: 'answered', wrong: 'was answered twice' };
  const [item = items.filter(({ status }) => status >= 500).at(-1)] = own;
  if (item) {
    const told = item.status === 200 ? toldBy(picture, item.answer) : problemIn(item.problem);
    return { end: 'answered', status: item.status, cache: 'batch', ...told };
  }
  if (reply.end === 'broken') return { end: 'broken', error: reply.error };
  if (reply.end !== 'answered') return { end: reply.end };
  if (reply.status !== 200) return { end: 'answered', status: reply.status, ...problemIn(parsed(reply.body)) };
  return { end: 'answered', status: 200, wrong: 'is missing in the answer of its batch' };
}
