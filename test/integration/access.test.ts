import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { digestsOf } from '../../edge/digest.js';
import { picture } from '../pictures.js';
import { servedBy, testSystem, until } from './system.js';

const run = promisify(execFile);
const system = await testSystem();
const main = fileURLToPath(new URL('../../infra/ops/main.js', import.meta.url));
const secret = 'a secret of thirty-two characters';
let url = '';

/** Runs `npm run ops -- …` and answers what it printed. */
async function ops(...words: readonly string[]): Promise<string> {
  const { stdout } = await run(process.execPath, [main, ...words], { env: { ...process.env, ...system.env } });
  return stdout.trim();
}

const keyFor = (tenant: string, ...words: readonly string[]) => ops('keys', 'create', '--tenant', tenant, ...words);
const bearer = (key: string) => ({ authorization: `Bearer ${key}` });
const idOf = (key: string) => key.split('_')[1] ?? '';

async function ask(path: string, init: RequestInit = {}) {
  const response = await fetch(`${url}/v1/models/${path}`, init);
  const text = await response.text();
  const body: Record<string, unknown> = JSON.parse(text);
  return { status: response.status, code: body['code'], body, headers: response.headers };
}
const predict = (headers: Record<string, string>, image = picture('access'), model = 'open') =>
  ask(`${model}/predict`, { method: 'POST', body: image, headers });

before(async () => {
  const models = ['open', 'closed'].map((name) => simulatedModel({ manifest: { name } }));
  await system.backend(servedBy(...models));
  url = (await system.edge({ SAMPAN_AUTH: 'on', SAMPAN_JWT_SECRET: secret })).url;
});

test('a key made by an operator lets its holder in, by either header, and without one nobody is let in', async () => {
  const key = await keyFor('acme');
  assert.match(key, /^sampan_[0-9a-f]{16}_[\w-]{32}$/);
  for (const headers of [bearer(key), { 'x-api-key': key }]) assert.equal((await predict(headers)).status, 200);
  assert.equal((await predict({})).code, 'credentials_missing');
  const { headers, code } = await ask(`open/predict?api_key=${key}`, { method: 'POST', body: picture('access') });
  assert.deepEqual([code, headers.get('www-authenticate')], ['credentials_missing', 'Bearer realm="sampan"']);
});

test('an edge says that it listens only when it can look keys up', async () => {
  const names = async () => (String(await system.stream.client('LIST')).match(/name=edge-access\b/g) ?? []).length;
  const before = await names();
  // The second connection that an edge opens is the one for keys.
  let made = 0;
  const slow = createServer((client) => {
    setTimeout(
      () => {
        const upstream = connect(Number(new URL(system.env['REDIS_URL'] ?? '').port), '127.0.0.1');
        for (const socket of [client, upstream]) socket.on('error', () => undefined);
        client.pipe(upstream).pipe(client);
      },
      ++made === 2 ? 1000 : 0,
    );
  });
  await once(slow.listen(0, '127.0.0.1'), 'listening');
  after(() => slow.close());
  const { port } = slow.address() as AddressInfo;
  await system.edge({ SAMPAN_AUTH: 'on', REDIS_URL: `redis://127.0.0.1:${String(port)}` });
  assert.equal(await names(), before + 1);
});

test('health needs no key', async () => {
  for (const path of ['healthz', 'readyz']) assert.equal((await fetch(`${url}/${path}`)).status, 200);
});

test('a revoked key is refused within seconds, in the words that an unknown one gets', async () => {
  const key = await keyFor('acme');
  assert.equal((await predict(bearer(key))).status, 200);
  assert.match(await ops('keys', 'list'), new RegExp(idOf(key)));
  await ops('keys', 'revoke', idOf(key));
  const refused = await until(
    () => predict(bearer(key)),
    ({ status }) => status === 401,
    5_000,
  );
  const unknown = await predict(bearer(`sampan_${'0'.repeat(16)}_${'A'.repeat(32)}`));
  assert.deepEqual([refused.code, refused.body['detail']], [unknown.code, unknown.body['detail']]);
  await assert.rejects(ops('keys', 'revoke', idOf(key)), /there is no key/);
});

test('a key for one model neither asks nor sees another, whether there is one or not', async () => {
  const key = bearer(await keyFor('acme', '--models', 'open'));
  assert.equal((await predict(key)).status, 200);
  for (const model of ['closed', 'unheard-of']) {
    assert.equal((await predict(key, picture('access'), model)).code, 'model_not_allowed');
    assert.equal((await ask(model, { headers: key })).code, 'model_not_allowed');
  }
  const absent = bearer(await keyFor('acme', '--models', 'absent,open'));
  const { code, body } = await predict(absent, picture('access'), 'absent');
  assert.deepEqual([code, body['models']], ['model_not_found', ['open']]);
  assert.doesNotMatch(JSON.stringify(body), /closed/);
  const listed = await fetch(`${url}/v1/models`, { headers: key });
  const { models }: { readonly models: readonly { readonly name: string }[] } = JSON.parse(await listed.text());
  assert.deepEqual(
    models.map(({ name }) => name),
    ['open'],
  );
});

test('cached answers stay within a tenant, unless keys share a scope', async () => {
  const image = picture('a private picture');
  const { md5, sha256 } = digestsOf(image);
  const lookup = (key: string) => ask(`open/results/${md5}?sha256=${sha256}`, { headers: bearer(key) });
  const [own, colleague, stranger] = [await keyFor('acme'), await keyFor('acme'), await keyFor('other')];
  assert.equal((await predict(bearer(own), image)).body['cache'], 'miss');
  await until(
    () => lookup(colleague),
    ({ status }) => status === 200,
  );
  assert.equal((await lookup(stranger)).code, 'result_not_found');
  assert.equal((await predict(bearer(stranger), image)).body['cache'], 'miss');
  const shared = await Promise.all(['one', 'two'].map((tenant) => keyFor(tenant, '--scope', 'public')));
  assert.equal((await predict(bearer(shared[0] ?? ''), image)).body['cache'], 'miss');
  await until(
    () => lookup(shared[1] ?? ''),
    ({ status }) => status === 200,
  );
});

test('a token is as good as a key', async () => {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const claims = { sub: 'me', tenant: 'acme', scope: 'predict', exp: Math.floor(Date.now() / 1000) + 60 };
  const body = `${part({ alg: 'HS256' })}.${part(claims)}`;
  const sign = (key: string) => `${body}.${createHmac('sha256', key).update(body).digest('base64url')}`;
  assert.equal((await predict(bearer(sign(secret)))).status, 200);
  assert.equal((await predict(bearer(sign(`${secret}!`)))).code, 'credentials_invalid');
});

test('what is left is told with every answer, and whoever is over the limit is told when to come back', async () => {
  const key = bearer(await keyFor('acme', '--per-second', '0.1', '--burst', '2', '--per-day', '50'));
  const first = await predict(key);
  assert.equal(first.headers.get('ratelimit-policy'), '"burst";q=2;w=20, "day";q=50;w=86400');
  assert.match(first.headers.get('ratelimit') ?? '', /^"burst";r=1;t=10, "day";r=49;t=\d+$/);
  assert.equal((await predict(key)).status, 200);
  const refused = await predict(key);
  assert.deepEqual([refused.status, refused.code], [429, 'rate_limited']);
  assert.match(refused.headers.get('retry-after') ?? '', /^([1-9]|10)$/);
});

test('what each tenant used is on the account of the day', async () => {
  const key = bearer(await keyFor('billed'));
  for (const name of ['one', 'two', 'one']) await predict(key, picture(name));
  await predict({ ...key, 'x-timeout-ms': 'soon' });
  const usage = await until(
    async () => JSON.parse(await ops('usage', '--json')).tenants.billed,
    (billed) => billed?.requests === 4,
  );
  assert.deepEqual([usage.pictures, usage.failures], [3, 1]);
  assert.match(await ops('usage'), /^tenant +requests +pictures +hits +failures\n/);
});

test('what an operator gets wrong is named', async () => {
  await assert.rejects(ops('keys', 'create'), /--tenant/);
  await assert.rejects(keyFor('a b'), /tenant/);
  await assert.rejects(keyFor('acme', '--expires', 'soon'), /90d/);
  for (const past of ['90', '2020-01-01']) await assert.rejects(keyFor('acme', '--expires', past), /expected/);
  await assert.rejects(keyFor('shared'), /name of the system/);
  await assert.rejects(keyFor('acme', '--permissions', 'all'), /permissions/);
  await assert.rejects(ops('usage', '--day', 'today'), /2027-06-30/);
});
