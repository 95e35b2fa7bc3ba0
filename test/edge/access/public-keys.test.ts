import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, test } from 'node:test';
import { exportJWK, generateKeyPair, SignJWT } from 'jose';
import { verifierByKeysAt } from '../../../edge/access/public-keys.js';
import { listen } from '../../../infra/process/listen.js';

const hourMs = 3_600_000;
const options = { algorithms: ['RS256'] };

/** A URL of one key, which may fail, and a verifier that fetches it for each token. */
async function underTest() {
  const { privateKey, publicKey } = await generateKeyPair('RS256');
  const keys = [{ ...(await exportJWK(publicKey)), kid: 'one', alg: 'RS256' }];
  const state = { ms: 0, status: 200, requests: 0 };
  const server = createServer((_request, response) => {
    state.requests++;
    response.writeHead(state.status, { 'content-type': 'application/json' }).end(JSON.stringify({ keys }));
  });
  const url = await listen(server, '127.0.0.1', 0, 'key server');
  after(() => server.close());
  const clock = { now: () => state.ms };
  const neverFresh = { cacheMaxAge: 0, cooldownDuration: 10_000, timeoutDuration: 3_000 };
  const verify = verifierByKeysAt(`${url}/keys`, options, clock, neverFresh);
  const sign = (key = privateKey) => new SignJWT({}).setProtectedHeader({ alg: 'RS256', kid: 'one' }).sign(key);
  return { state, verify, sign };
}

test('while keys cannot be fetched, those that were known do for an hour, and are asked for every ten seconds', async () => {
  const { state, verify, sign } = await underTest();
  const token = await sign();
  await verify(token);
  state.status = 500;
  const { requests } = state;
  for (let i = 0; i < 5; i++) await verify(token);
  assert.equal(state.requests, requests + 1);
  state.ms = 10_000;
  await verify(token);
  assert.equal(state.requests, requests + 2);
  state.ms = hourMs + 1;
  await assert.rejects(verify(token));
  state.status = 200;
  state.ms += 10_000;
  await verify(token);
});

test('a stranger is not let in by keys that were known either', async () => {
  const { state, verify, sign } = await underTest();
  await verify(await sign());
  state.status = 500;
  const { privateKey } = await generateKeyPair('RS256');
  const forged = await sign(privateKey);
  for (let i = 0; i < 2; i++) await assert.rejects(verify(forged), { code: 'ERR_JWS_SIGNATURE_VERIFICATION_FAILED' });
});
