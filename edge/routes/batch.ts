import { Failure } from '../../contracts/failure.js';
import { parseParams } from '../../contracts/params.js';
import type { Batch } from '../batch/batch.js';
import type { Item } from '../batch/item.js';
import { runBatch, type RunningBatch } from '../batch/run-batch.js';
import { readImages } from '../body/read-images.js';
import type { EdgeDeps } from '../deps.js';
import { findServedModel } from '../models.js';
import { queryOf } from '../query.js';
import type { EdgeContext, Handle } from '../request.js';
import { respond, respondStream } from '../respond.js';
import { weightsIn } from '../weights.js';
import { identifyCaller } from './identify.js';
import { timeoutFrom, timeoutsOf } from './timeout.js';

/** `POST /v1/models/:model/batch`: many pictures in one request, each answered by itself. */
export function batch(deps: EdgeDeps): Handle {
  let underWay = 0;
  return async (c) => {
    const opened = await openBatch(deps, c);
    if (underWay >= deps.config.maxBatches) throw tooMany(underWay);
    const running = runBatch(opened, readImages(deps, c));
    underWay += 1;
    const over = running.ended.catch(() => undefined).finally(() => (underWay -= 1));
    return wantsLines(c.req.header('accept')) ? answerLines(deps, c, running, over) : answerArray(c, running);
  };
}

async function openBatch(deps: EdgeDeps, c: EdgeContext): Promise<Batch> {
  const principal = await identifyCaller(deps, c, 'predict');
  const manifest = await findServedModel(deps.models, c.req.param('model') ?? '');
  const request = Object.assign(c.get('request'), {
    model: manifest.name,
    tally: { answered: 0, hits: 0, failed: 0 },
  });
  const timeoutMs = timeoutFrom(c.req.header('x-timeout-ms'), timeoutsOf(deps.config, false));
  const query = queryOf(c.req.url);
  // Those of a picture come later, with it; what is wrong for all of them is told before any is read.
  parseParams(manifest, Object.fromEntries(query));
  return { deps, request, principal, manifest, query, timeoutMs, signal: c.req.raw.signal };
}

function tooMany(underWay: number): Failure {
  return new Failure('overloaded', `${underWay} batches are under way on this edge`, { retryAfter: 1 });
}

const lines = 'application/x-ndjson';

/** Whether items are wanted as they are done, a line each. */
function wantsLines(accept = ''): boolean {
  const weights = weightsIn(accept);
  const weight = weights.get(lines) ?? weights.get('application/ndjson') ?? 0;
  return weight > 0 && weight >= (weights.get('application/json') ?? 0);
}

async function answerArray(c: EdgeContext, { items }: RunningBatch): Promise<Response> {
  const texts: string[] = [];
  for await (const { index, text } of items) texts[index] = text;
  return respond(c, 200, `[${texts.join(',')}]`, { 'content-type': 'application/json', 'cache-control': 'no-store' });
}

/**
 * The answer begins with its first item, so that a batch of which there is none is a problem.
 * @param over resolves with the last picture: until then the request is under way, though its client may have gone
 */
async function answerLines(
  deps: EdgeDeps,
  c: EdgeContext,
  { items }: RunningBatch,
  over: Promise<unknown>,
): Promise<Response> {
  const first = await items.next();
  const answer = respondStream(c, lines, written(deps, c, first, items));
  const request = c.get('request');
  request.streamed = Promise.all([request.streamed, over]).then(() => undefined);
  return answer;
}

async function* written(
  deps: EdgeDeps,
  c: EdgeContext,
  first: IteratorResult<Item, unknown>,
  items: AsyncGenerator<Item>,
): AsyncGenerator<string> {
  for (let next = first; !next.done; next = await items.next()) yield `${next.value.text}\n`;
  await deps.discardBody(c);
}
