import { parseParams } from '../../contracts/params.js';
import type { Batch } from '../batch/batch.js';
import type { Item } from '../batch/item.js';
import { runBatch } from '../batch/run-batch.js';
import { readImages } from '../body/read-images.js';
import type { EdgeDeps } from '../deps.js';
import { findServedModel } from '../models.js';
import { queryOf } from '../query.js';
import type { EdgeContext, Handle } from '../request.js';
import { respond, respondStream } from '../respond.js';
import { identifyCaller } from './identify.js';
import { timeoutFrom, timeoutsOf } from './timeout.js';

/** `POST /v1/models/:model/batch`: many pictures in one request, each answered by itself. */
export function batch(deps: EdgeDeps): Handle {
  return async (c) => {
    const items = runBatch(await openBatch(deps, c), readImages(deps, c));
    return wantsLines(c.req.header('accept')) ? answerLines(c, items) : answerArray(c, items);
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

/** Whether items are wanted as they are done, a line each. */
function wantsLines(accept = ''): boolean {
  return /\bapplication\/(x-)?ndjson\b(?!\s*;\s*q=0(\.0*)?\s*(,|$))/i.test(accept);
}

async function answerArray(c: EdgeContext, items: AsyncGenerator<Item>): Promise<Response> {
  const texts: string[] = [];
  for await (const { index, text } of items) texts[index] = text;
  return respond(c, 200, `[${texts.join(',')}]`, { 'content-type': 'application/json', 'cache-control': 'no-store' });
}

/** The answer begins with its first item, so that a batch of which there is none is a problem. */
async function answerLines(c: EdgeContext, items: AsyncGenerator<Item>): Promise<Response> {
  const first = await items.next();
  return respondStream(c, 'application/x-ndjson', lines(first, items));
}

async function* lines(first: IteratorResult<Item, unknown>, items: AsyncGenerator<Item>): AsyncGenerator<string> {
  for (let next = first; !next.done; next = await items.next()) yield `${next.value.text}\n`;
}
