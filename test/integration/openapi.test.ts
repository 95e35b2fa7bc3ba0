import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createDocument } from '../../edge/openapi/document.js';
import { answerBook, type HttpAnswer } from '../openapi-answers.js';
import { testRedis } from '../redis.js';
import { failingSystem } from './failing-system.js';
import { failureWays } from './failure-ways.js';
import { openApiCalls } from './openapi-calls.js';

/** A whole system whose every answer is held against the document that it gives of itself. */
const document = createDocument();
const book = answerBook(document);

const failing = await failingSystem(async (path, init, base) => {
  const response = await fetch(`${base}${path}`, init);
  const answer = { status: response.status, headers: response.headers, text: await response.text() };
  book.check(init.method ?? 'GET', path, answer);
  return answer;
});

const calls = await openApiCalls(failing);
const ways = failureWays(failing, await testRedis());

test('the document that is told is this one', async () => {
  const { text } = await failing.ask('/openapi.json');
  assert.deepEqual(JSON.parse(text), JSON.parse(JSON.stringify(document)));
});

for (const [name, call] of Object.entries(calls)) {
  test(`${name}: answered as the document says`, call);
}

for (const [code, way] of Object.entries(ways)) {
  test(`${code} is answered as the document says`, async () => {
    const answer = await way();
    if (answer) assert.equal(JSON.parse(answer.text).code, code);
    else assert.equal(code, 'body_incomplete');
  });
}

test('every operation was called, and every code brought about, that the document has', () => {
  // Whose request was cut off in the middle is not there to be told.
  assert.deepEqual(book.unseen(), { answers: [], codes: ['body_incomplete'] });
});

test('an answer that the document does not have is refused, whatever about it is wrong', async () => {
  const models = await failing.ask('/v1/models');
  const missing = await failing.ask('/v1/models/unheard-of');
  const { headers } = await failing.ask('/healthz');
  const events = { status: 200, headers: new Headers(headers), text: '' };
  for (const [name, value] of eventHeaders) events.headers.set(name, value);
  const wrongs: readonly (readonly [what: string, path: string, wrong: HttpAnswer])[] = [
    ['a member more', '/v1/models', altered(models, (body) => (body.models[0].more = 1))],
    ['a member less', '/v1/models', altered(models, (body) => delete body.models[0].version)],
    ['a member of another type', '/v1/models', altered(models, (body) => (body.models[0].labelCount = '3'))],
    ['an undocumented status', '/v1/models', { ...models, status: 201 }],
    ['another content type', '/v1/models', { ...models, headers: withHeader(models, 'content-type', 'text/plain') }],
    ['no request id', '/v1/models', { ...models, headers: without(models, 'x-request-id') }],
    ['a trace of another form', '/v1/models', { ...models, headers: withHeader(models, 'traceresponse', '00-0-0-00') }],
    ['a body to HEAD', 'HEAD /v1/models', models],
    ['a problem of another operation', '/healthz', missing],
    ['a code of another status', '/v1/models/x', altered(missing, (body) => (body.code = 'rate_limited'))],
    ['a title that is not in the table', '/v1/models/x', altered(missing, (body) => (body.title = 'Oops.'))],
    ['events that tell no task', '/v1/tasks/x/events', { ...events, text: 'event: state\ndata: {"state":"gone"}\n\n' }],
  ];
  const fresh = answerBook(document);
  for (const [what, path, wrong] of wrongs) {
    const [method = '', target = ''] = path.startsWith('/') ? ['GET', path] : path.split(' ');
    assert.throws(() => fresh.check(method, target, wrong), assert.AssertionError, what);
  }
  const shown = JSON.stringify({ id: `plain.0.${'0'.repeat(36)}`, model: 'plain', state: 'cancelled' });
  fresh.check('GET', '/v1/tasks/x/events', { ...events, text: `event: state\ndata: ${shown}\n\n` });
  fresh.check('GET', '/v1/models', models);
  fresh.check('GET', '/v1/models/unheard-of', missing);
});

const eventHeaders = [
  ['content-type', 'text/event-stream'],
  ['cache-control', 'no-store'],
  ['x-accel-buffering', 'no'],
] as const;

function altered(answer: HttpAnswer, alter: (body: ReturnType<typeof JSON.parse>) => unknown): HttpAnswer {
  const body = JSON.parse(answer.text);
  alter(body);
  return { ...answer, text: JSON.stringify(body) };
}

function withHeader({ headers }: HttpAnswer, name: string, value: string): Headers {
  const changed = new Headers(headers);
  changed.set(name, value);
  return changed;
}

function without({ headers }: HttpAnswer, name: string): Headers {
  const changed = new Headers(headers);
  changed.delete(name);
  return changed;
}
