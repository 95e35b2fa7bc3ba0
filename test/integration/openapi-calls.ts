import assert from 'node:assert/strict';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { taskKindSchema } from '../../contracts/model.js';
import { partitionKeys } from '../../contracts/keys.js';
import { keepSpans } from '../../contracts/kept-traces.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { digestsOf } from '../../edge/digest.js';
import { keptSpan, requestSpan, traceIdOf } from '../kept-spans.js';
import { picture } from '../pictures.js';
import { testRedis } from '../redis.js';
import type { Answer } from './access-failures.js';
import { formOf, linesOf } from './batches.js';
import type { FailingSystem } from './failing-system.js';
import { servedBy, until } from './system.js';

const async = { prefer: 'respond-async' };
const kinds = taskKindSchema.options;

/**
 * Calls of every operation that are answered as its caller hopes; each asks for several of them, and whoever sends them
 * looks at the answers.
 */
export async function openApiCalls(failing: FailingSystem): Promise<Readonly<Record<string, () => Promise<void>>>> {
  const { system } = failing;
  await system.backend(servedBy(...kinds.map((task) => simulatedModel({ manifest: { name: `to-${task}`, task } }))));
  const gone = await testRedis();
  const { url: cutOff } = await system.edge({ REDIS_URL: gone.url });
  return {
    'predict, in its three forms, and of every kind of model': () => predictEveryWay(failing),
    'a lookup, and one by who has the answer already': () => lookUp(failing),
    'an accepted task, until it has succeeded': () => comeBack(failing),
    'tasks that failed, expired or were cancelled': () => endBadly(failing),
    'the models': async () => {
      for (const path of ['/v1/models', ...kinds.map((kind) => `/v1/models/to-${kind}`)]) await good(failing, path);
    },
    'health, of an edge that is ready and of one that is not': async () => {
      await good(failing, '/healthz');
      await good(failing, '/readyz');
      await gone.stop();
      await answered(failing.ask('/readyz', {}, cutOff), 503);
    },
    'traces that are kept': () => seeTraces(failing),
    'the document and the page': async () => {
      const { headers } = await good(failing, '/openapi.json');
      const known = { 'if-none-match': headers.get('etag') ?? '' };
      await answered(failing.ask('/openapi.json', { headers: known }), 304);
      await good(failing, '/docs');
    },
    'batches, by form and by lines, told in order and as they are done': () => sendMany(failing),
  };
}

async function answered(asked: Promise<Answer>, status: number): Promise<Answer> {
  const answer = await asked;
  assert.equal(answer.status, status, answer.text);
  return answer;
}

/** GET is answered, and so is HEAD. */
async function good({ ask }: FailingSystem, path: string): Promise<Answer> {
  await answered(ask(path, { method: 'HEAD' }), 200);
  return answered(ask(path), 200);
}

async function predictEveryWay({ ask, predict }: FailingSystem): Promise<void> {
  const image = picture('one of many forms');
  const form = new FormData();
  form.set('image', new Blob([image]), 'photo.jpg');
  form.set('top', '2');
  await answered(ask('/v1/models/plain/predict', { method: 'POST', body: form }), 200);
  const json = JSON.stringify({ image: picture('in JSON').toString('base64'), params: { minScore: 0.5 } });
  await answered(predict('plain', json, { 'content-type': 'application/json' }), 200);
  for (const kind of kinds) {
    const first = await answered(predict(`to-${kind}`, image, { 'content-type': 'image/jpeg' }), 200);
    const hit = await until(
      () => predict(`to-${kind}`, image),
      ({ headers }) => headers.get('x-cache') === 'hit',
    );
    assert.deepEqual(JSON.parse(hit.text).predictions, JSON.parse(first.text).predictions);
  }
}

async function seeTraces({ system, ask }: FailingSystem): Promise<void> {
  const { url } = await system.edge({ SAMPAN_TRACE_STORE: 'on' });
  const attributes = { 'http.response.status_code': 200, 'url.path': '/v1/models/plain/predict' };
  const [request, process] = [
    requestSpan({ trace: 7, ms: 12, more: { attributes } }),
    keptSpan({ trace: 7, span: 2, parent: 1 }),
  ];
  await keepSpans(defineScripts(system.cache), [request, process, keptSpan({ trace: 8, span: 3 })]);
  const listed = await answered(
    ask('/v1/traces?model=plain&status=2&minMs=10&since=1970-01-01T00:00:00Z&count=5', {}, url),
    200,
  );
  assert.deepEqual(
    JSON.parse(listed.text).traces.map(({ traceId, ms }: { traceId: string; ms: number }) => [traceId, ms]),
    [[traceIdOf(7), 12]],
  );
  const shown = JSON.parse((await answered(ask(`/v1/traces/${traceIdOf(7)}`, {}, url), 200)).text);
  assert.deepEqual([shown.request.totalMs, shown.spans.length], [12, 2]);
  assert.match(shown.request.verdict.text, /too few others/);
  const partial = JSON.parse((await answered(ask(`/v1/traces/${traceIdOf(8)}`, {}, url), 200)).text);
  assert.deepEqual([partial.request, partial.spans.length], [undefined, 1]);
}

async function sendMany({ ask }: FailingSystem): Promise<void> {
  const images = [picture('one of two'), Buffer.from('no picture'), picture('the other')];
  const bodies: readonly (readonly [string | FormData, Record<string, string>])[] = [
    [formOf(images, { top: '1' }), {}],
    [linesOf(images), { 'content-type': 'application/x-ndjson' }],
  ];
  for (const [body, headers] of bodies) {
    for (const accept of ['application/json', 'application/x-ndjson']) {
      const init = { method: 'POST', body, headers: { ...headers, accept } };
      const { headers: told, text } = await answered(ask('/v1/models/plain/batch', init), 200);
      assert.equal(told.get('content-type'), accept);
      assert.equal(text.match(/"index":/g)?.length, 3);
    }
  }
}

async function lookUp(failing: FailingSystem): Promise<void> {
  const image = picture('looked up');
  await answered(failing.predict('plain', image), 200);
  const { md5, sha256 } = digestsOf(image);
  const path = `/v1/models/plain/results/${md5}?sha256=${sha256}`;
  await until(
    () => failing.ask(path),
    ({ status }) => status === 200,
  );
  const { headers } = await good(failing, path);
  await answered(failing.ask(path, { headers: { 'if-none-match': headers.get('etag') ?? '' } }), 304);
}

async function comeBack(failing: FailingSystem): Promise<void> {
  const { ask, predict, latch } = failing;
  latch.hold();
  const accepted = await answered(predict('latched', picture('accepted'), async), 202);
  const location = accepted.headers.get('location') ?? '';
  await latch.arrived();
  const pending = await good(failing, location);
  assert.equal(JSON.parse(pending.text).state, 'pending');
  const events = ask(`${location}/events`);
  const joined = await answered(predict('latched', picture('accepted'), async), 202);
  latch.release();
  const ended = await answered(ask(location, { headers: { prefer: 'wait=30' } }), 200);
  assert.equal(JSON.parse(ended.text).state, 'succeeded');
  assert.match((await events).text, /\nid: end\ndata: [^\n]*"state":"succeeded"/);
  await answered(ask(`${location}/events`, { headers: { 'last-event-id': 'end' } }), 204);
  await answered(ask(joined.headers.get('location') ?? '', { headers: { prefer: 'wait=30' } }), 200);
  await answered(ask(location, { method: 'DELETE' }), 200);
}

async function endBadly({ ask, predict, stream }: FailingSystem): Promise<void> {
  const stateOf = async (id: string, init: RequestInit = {}) =>
    JSON.parse((await answered(ask(`/v1/tasks/${id}`, init), 200)).text).state;
  const submit = async (model: string, name: string, headers = {}) =>
    JSON.parse((await answered(predict(model, picture(name), { ...async, ...headers }), 202)).text).id as string;
  assert.equal(await stateOf(await submit('failing', 'fails'), { headers: { prefer: 'wait=30' } }), 'failed');
  const expiring = await submit('losing', 'expires', { 'x-timeout-ms': '50' });
  await until(
    () => stateOf(expiring),
    (state) => state === 'expired',
  );
  const cancelled = await submit('losing', 'is cancelled');
  assert.equal(await stateOf(cancelled, { method: 'DELETE' }), 'cancelled');
  // Nobody reads this model's tasks: the one that expired is taken away.
  const { work, load, tasks } = partitionKeys('losing');
  await stream.del(work, load, tasks('normal'));
}
