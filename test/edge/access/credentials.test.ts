import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Failure } from '../../../contracts/failure.js';
import { credentialsOf, type Presented } from '../../../edge/access/credentials.js';

const key = { id: '0123456789abcdef', secret: 'A'.repeat(32) };
const text = `sampan_${key.id}_${key.secret}`;
const of = (presented: Partial<Presented>) =>
  credentialsOf({ authorization: undefined, xApiKey: undefined, url: 'http://edge/v1/models', ...presented });

function refusal(presented: Partial<Presented>): Failure {
  try {
    of(presented);
  } catch (error) {
    if (error instanceof Failure) return error;
  }
  return assert.fail(`taken: ${JSON.stringify(presented)}`);
}

test('a key is taken from authorization and from x-api-key', () => {
  for (const scheme of ['Bearer', 'bearer', 'BEARER']) {
    assert.deepEqual(of({ authorization: `${scheme} ${text}` }), { kind: 'key', key });
  }
  assert.deepEqual(of({ xApiKey: text }), { kind: 'key', key });
});

test('a token is taken from authorization alone', () => {
  assert.deepEqual(of({ authorization: 'Bearer a.b.c' }), { kind: 'token', token: 'a.b.c' });
  assert.equal(refusal({ xApiKey: 'a.b.c' }).code, 'credentials_invalid');
});

test('without credentials a request is refused, and a key in the URL is not read', () => {
  assert.equal(refusal({}).code, 'credentials_missing');
  for (const name of ['api_key', 'apikey', 'api-key', 'key', 'access_token', 'token']) {
    const refused = refusal({ url: `http://edge/v1/models?x=1&${name}=${text}` });
    assert.equal(refused.code, 'credentials_missing');
    assert.match(refused.detail, /URL/);
    assert.ok(!refused.detail.includes(key.secret));
  }
});

test('anything else is refused, and never repeated in the refusal', () => {
  const others = ['Basic dXNlcjpwYXNz', 'Bearer', 'Bearer ', `Bearer ${text} ${text}`, text, `Bearer ${text}x`];
  for (const authorization of [...others, `Bearer ${'x'.repeat(10_000)}`, 'Bearer a.b', 'Bearer a.b.c.d']) {
    const refused = refusal({ authorization });
    assert.equal(refused.code, 'credentials_invalid', authorization.slice(0, 40));
    assert.ok(!refused.detail.includes(key.secret) && refused.detail.length < 200);
  }
  assert.equal(refusal({ authorization: `Bearer ${text}`, xApiKey: text }).code, 'credentials_invalid');
});
