import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  createApiKey,
  isSecretOf,
  listApiKeys,
  parseApiKey,
  readApiKey,
  revokeApiKey,
} from '../../contracts/api-key.js';
import { apiKeysKey } from '../../contracts/keys.js';
import { testRedis } from '../redis.js';

const client = (await testRedis()).client();
const grant = { tenant: 'acme', tier: 'free', permissions: ['predict'] } as const;
const create = (label: string) => createApiKey(client, { grant: { ...grant, permissions: ['predict'] }, label });

test('a key is shown once: what is stored does not hold its secret', async () => {
  const text = await create('first');
  const { id, secret } = parseApiKey(text) ?? assert.fail('what was made is no key');
  const stored = (await client.hget(apiKeysKey, id)) ?? '';
  assert.ok(stored.length > 0 && !stored.includes(secret) && !stored.includes(Buffer.from(secret).toString('hex')));
  const key = (await readApiKey(client, id)) ?? assert.fail('it is not stored');
  assert.deepEqual(key.grant, grant);
  assert.equal(isSecretOf(key, secret), true);
  for (const other of [`${secret}x`, secret.slice(1), '', secret.toLowerCase()]) {
    assert.equal(isSecretOf(key, other), false, other);
  }
});

test('no two keys are the same, and each is listed in the order they were made', async () => {
  const texts = [];
  for (let made = 0; made < 20; made++) texts.push(await create(`key ${String(made)}`));
  assert.equal(new Set(texts).size, texts.length);
  const labels = [...(await listApiKeys(client)).values()].map(({ label }) => label);
  assert.deepEqual(
    labels.filter((label) => label.startsWith('key ')),
    texts.map((_, made) => `key ${String(made)}`),
  );
});

test('a key that is revoked is gone, once', async () => {
  const { id } = parseApiKey(await create('short')) ?? assert.fail();
  assert.equal(await revokeApiKey(client, id), true);
  assert.equal(await readApiKey(client, id), undefined);
  assert.equal(await revokeApiKey(client, id), false);
});

test('what is stored in a form that is not known is no key, never a throw', async () => {
  for (const [i, text] of ['', '{', 'null', '{"v":2}', JSON.stringify({ v: 1, grant })].entries()) {
    await client.hset(apiKeysKey, `odd${String(i)}`, text);
    assert.equal(await readApiKey(client, `odd${String(i)}`), undefined);
  }
  assert.equal([...(await listApiKeys(client)).keys()].filter((id) => id.startsWith('odd')).length, 0);
});

test('only what looks like a key is taken for one', () => {
  const id = '0123456789abcdef';
  const secret = 'A'.repeat(32);
  assert.deepEqual(parseApiKey(`sampan_${id}_${secret}`), { id, secret });
  for (const other of [
    `sampan_${id}_${secret}x`,
    `sampan_${id}`,
    ` sampan_${id}_${secret}`,
    `key_${id}_${secret}`,
    '',
  ]) {
    assert.equal(parseApiKey(other), undefined, other);
  }
});
