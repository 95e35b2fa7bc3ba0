import assert from 'node:assert/strict';
import { createHmac } from 'node:crypto';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { exportJWK, exportSPKI, generateKeyPair, SignJWT, type CryptoKey, type JWK } from 'jose';
import { createTokenAuthority } from '../../../edge/access/token-authority.js';
import { listen } from '../../../infra/process/listen.js';

const secret = 'a secret of thirty-two characters';
const clock = { ms: 0, now: () => clock.ms };
const bySecret = createTokenAuthority({ secret, issuer: 'https://login.test', audience: 'sampan' }, clock);
const claims = { tenant: 'acme', tier: 'standard', scope: 'openid predict tasks', models: ['coco'] };

interface Wanted {
  readonly claims?: Record<string, unknown>;
  readonly issuer?: string;
  readonly audience?: string;
  readonly expires?: string | number;
}

function unsigned(wanted: Wanted = {}): SignJWT {
  return new SignJWT({ ...claims, sub: 'me', ...wanted.claims })
    .setIssuer(wanted.issuer ?? 'https://login.test')
    .setAudience(wanted.audience ?? 'sampan')
    .setExpirationTime(wanted.expires ?? '5m');
}

const signed = (wanted: Wanted = {}, key = secret) =>
  unsigned(wanted).setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(key));

const part = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url');
const forged = (header: object, key?: string, hash = 'sha256') => {
  const body = `${part(header)}.${part({ ...claims, sub: 'me', exp: 4e9, iss: 'https://login.test', aud: 'sampan' })}`;
  return `${body}.${key === undefined ? '' : createHmac(hash, key).update(body).digest('base64url')}`;
};

test("a token's holder is who its claims say; scopes of other services are passed over", async () => {
  assert.deepEqual(await bySecret(await signed()), {
    ...{ tenant: 'acme', tier: 'standard', permissions: ['predict', 'tasks'], models: ['coco'] },
    ...{ scope: 'acme', account: 'sub:acme:me', limits: undefined },
  });
});

const refused: Record<string, () => Promise<string> | string> = {
  'another secret': () => signed({}, 'another secret of thirty-two chars'),
  'another issuer': () => signed({ issuer: 'https://elsewhere.test' }),
  'another audience': () => signed({ audience: 'elsewhere' }),
  'no tenant': () => signed({ claims: { tenant: undefined } }),
  'no subject': () => signed({ claims: { sub: undefined } }),
  'a tenant that cannot stand in a key': () => signed({ claims: { tenant: 'a b' } }),
  'the algorithm none': () => forged({ alg: 'none' }),
  'the algorithm none, signed': () => forged({ alg: 'None' }, secret),
  'a changed body': async () => {
    const [head, , signature] = (await signed()).split('.');
    return `${head ?? ''}.${part({ ...claims, tenant: 'other', sub: 'me', exp: 4e9 })}.${signature ?? ''}`;
  },
  garbage: () => 'a.b.c',
};
for (const [what, token] of Object.entries(refused)) {
  test(`a token with ${what} is refused`, async () => {
    await assert.rejects(bySecret(await token()), /credentials_invalid/);
  });
}

test('of the algorithms that a secret would do for, one alone is taken', async () => {
  const long = secret.repeat(2);
  const byLong = createTokenAuthority({ secret: long }, clock);
  assert.equal((await byLong(forged({ alg: 'HS256' }, long))).tenant, 'acme');
  await assert.rejects(byLong(forged({ alg: 'HS512' }, long, 'sha512')), /credentials_invalid/);
});

test('a token that has expired is told so, once its signature is right', async () => {
  await assert.rejects(bySecret(await signed({ expires: 1 })), /credentials_expired/);
  await assert.rejects(
    bySecret(await signed({ expires: 1 }, 'another secret of thirty-two chars')),
    /credentials_invalid/,
  );
});

test('a token without an end is refused', async () => {
  const endless = new SignJWT({ ...claims, sub: 'me', iss: 'https://login.test', aud: 'sampan' });
  const token = await endless.setProtectedHeader({ alg: 'HS256' }).sign(new TextEncoder().encode(secret));
  await assert.rejects(bySecret(token), /credentials_invalid/);
});

/** A URL of public keys that a test changes. */
async function keyServer() {
  const state: { keys: JWK[]; requests: number; status: number } = { keys: [], requests: 0, status: 200 };
  const server = createServer((_request, response) => {
    state.requests++;
    response.writeHead(state.status, { 'content-type': 'application/json' }).end(JSON.stringify({ keys: state.keys }));
  });
  const url = await listen(server, '127.0.0.1', 0, 'key server');
  after(() => server.close());
  const add = async (kid: string): Promise<{ privateKey: CryptoKey; publicKey: CryptoKey }> => {
    const pair = await generateKeyPair('RS256', { extractable: true });
    state.keys.push({ ...(await exportJWK(pair.publicKey)), kid, alg: 'RS256' });
    return pair;
  };
  return { state, url: `${url}/keys`, add };
}
const signedBy = (key: CryptoKey, kid: string, wanted: Wanted = {}) =>
  unsigned(wanted).setProtectedHeader({ alg: 'RS256', kid }).sign(key);

test('tokens are verified by the public keys at a URL, fetched once for many', async () => {
  const { state, url, add } = await keyServer();
  const { privateKey } = await add('one');
  const byKeys = createTokenAuthority({ jwksUrl: url }, clock);
  const token = await signedBy(privateKey, 'one');
  for (let i = 0; i < 5; i++) assert.equal((await byKeys(token)).tenant, 'acme');
  assert.equal(state.requests, 1);
  await assert.rejects(byKeys(await signedBy(privateKey, 'two')), /credentials_invalid/);
});

test('a public key is never taken for a secret', async () => {
  const { url, add } = await keyServer();
  const { publicKey } = await add('one');
  const byKeys = createTokenAuthority({ jwksUrl: url }, clock);
  const confused = forged({ alg: 'HS256', kid: 'one' }, await exportSPKI(publicKey));
  await assert.rejects(byKeys(confused), /credentials_invalid/);
  await assert.rejects(byKeys(forged({ alg: 'none', kid: 'one' })), /credentials_invalid/);
});

test('while keys cannot be fetched nobody is let in, and told that it is not their fault', async () => {
  const { state, url, add } = await keyServer();
  const { privateKey } = await add('one');
  state.status = 500;
  const byKeys = createTokenAuthority({ jwksUrl: url }, clock);
  await assert.rejects(byKeys(await signedBy(privateKey, 'one')), /tokens_unverifiable/);
  const { requests } = state;
  await assert.rejects(byKeys(await signedBy(privateKey, 'one')), /tokens_unverifiable/);
  assert.equal(state.requests, requests, 'strangers must not make it ask for each token');
  state.status = 200;
  clock.ms += 10_000;
  assert.equal((await byKeys(await signedBy(privateKey, 'one'))).tenant, 'acme');
});

test('after a rotation tokens that do not name their key are tried with each', async () => {
  const { url, add } = await keyServer();
  const pairs = [await add('one'), await add('two')];
  const byKeys = createTokenAuthority({ jwksUrl: url }, clock);
  const nameless = (key: CryptoKey) => unsigned().setProtectedHeader({ alg: 'RS256' }).sign(key);
  for (const { privateKey } of pairs) assert.equal((await byKeys(await nameless(privateKey))).tenant, 'acme');
  const { privateKey: stranger } = await generateKeyPair('RS256');
  await assert.rejects(byKeys(await nameless(stranger)), /credentials_invalid/);
});
