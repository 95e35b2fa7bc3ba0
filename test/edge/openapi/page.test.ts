import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect } from 'node:net';
import { test } from 'node:test';
import { failures } from '../../../contracts/failure.js';
import { createDocument } from '../../../edge/openapi/document.js';
import { unparsed } from '../../../edge/openapi/operation.js';
import { renderPage } from '../../../edge/openapi/page.js';
import { testRedis } from '../../redis.js';
import { edgeUnderTest } from '../edge-under-test.js';

const document = createDocument();
const edge = await edgeUnderTest((await testRedis()).url);
const get = async (path: string, headers: Record<string, string> = {}, method = 'GET') => {
  const answer = await fetch(`${edge.url}${path}`, { headers, method });
  return { status: answer.status, headers: answer.headers, text: await answer.text() };
};

test('the page tells of every operation, parameter and code of the document', async () => {
  const { text } = await get('/docs');
  const names = Object.values(document.components.parameters).map(({ name }) => name);
  const ids = Object.values(document.paths).flatMap((methods) => Object.values(methods).map((one) => one.operationId));
  for (const name of names) assert.ok(text.includes(`<code>${name}</code>`), name);
  for (const id of ids) assert.ok(text.includes(`<article id="${id}">`), id);
  const others: readonly string[] = [...Object.keys(document.components.responses), ...unparsed];
  const ofOperations = Object.keys(failures).filter((code) => !others.includes(code));
  for (const code of ofOperations) assert.ok(text.includes(`<th scope="row"><code>${code}</code></th>`), code);
  for (const code of others) assert.ok(text.includes(`<code>${code}</code>`), code);
});

test('the page runs no script, fetches nothing from elsewhere, and its links lead somewhere', async () => {
  const { text, headers } = await get('/docs');
  assert.equal(headers.get('content-type'), 'text/html; charset=utf-8');
  assert.doesNotMatch(text, /<(script|link|img|iframe|object|embed|form)\b|\son\w+=|@import|url\(/i);
  const ids = [...text.matchAll(/ id="([^"]+)"/g)].map(([, id]) => id);
  assert.equal(new Set(ids).size, ids.length, 'no id twice');
  const links = [...text.matchAll(/ href="([^"]+)"/g)].map(([, link = '']) => link);
  assert.ok(links.length > 20);
  for (const link of links) assert.ok(link === '/openapi.json' || ids.includes(link.slice(1)), link);
});

test('its policy allows its own style and nothing else', async () => {
  const { text, headers } = await get('/docs');
  const [, style = ''] = /<style>([^]*?)<\/style>/.exec(text) ?? [];
  const hash = createHash('sha256').update(style).digest('base64');
  assert.equal(
    headers.get('content-security-policy'),
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'`,
  );
  assert.match(style, /prefers-color-scheme: dark/);
});

test('what the document says is escaped', async () => {
  const hostile = `<script>alert("1")</script>`;
  const info = { ...document.info, title: hostile, description: `${hostile} \`${hostile}\`` };
  const { page } = await renderPage({ ...document, info });
  assert.doesNotMatch(page, /<script/);
  assert.ok(page.includes('&lt;script&gt;'));
});

test('examples name the address that was asked, and no address that was made up', async () => {
  const { text } = await get('/docs');
  assert.ok(text.includes(`${edge.url}/v1/models/coco/predict`));
  assert.doesNotMatch(text, /\$BASE/);
  for (const host of ['edge.example.com:8443', '[::1]:8787']) {
    assert.ok((await askAs(host)).includes(`http://${host}/v1/models/coco/predict`), host);
  }
  for (const host of ['a"><script>alert(1)</script>', "a'b", 'a$(reboot)', 'a`b`']) {
    const answer = await askAs(host);
    assert.doesNotMatch(answer, /<script>|http:\/\/a/, host);
  }
});

/** The answer to a request for the page under another host. */
async function askAs(host: string): Promise<string> {
  const socket = connect(Number(new URL(edge.url).port), '127.0.0.1');
  let answer = '';
  socket.on('data', (chunk: Buffer) => (answer += chunk.toString()));
  socket.write(`GET /docs HTTP/1.1\r\nhost: ${host}\r\nconnection: close\r\n\r\n`);
  await once(socket, 'close');
  assert.match(answer, /^HTTP\/1\.1 (200|400) /);
  return answer;
}

test('who has the document already is told so, by its tag, and HEAD tells the tag alone', async () => {
  const first = await get('/openapi.json');
  assert.deepEqual([first.status, first.headers.get('content-type')], [200, 'application/json']);
  assert.equal(JSON.parse(first.text).openapi, document.openapi);
  const etag = first.headers.get('etag') ?? '';
  const again = await get('/openapi.json', { 'if-none-match': `"other", ${etag}` });
  assert.deepEqual([again.status, again.text, again.headers.get('etag')], [304, '', etag]);
  assert.equal((await get('/openapi.json', { 'if-none-match': '"other"' })).status, 200);
  const head = await get('/openapi.json', {}, 'HEAD');
  assert.deepEqual([head.status, head.text, head.headers.get('etag')], [200, '', etag]);
});
