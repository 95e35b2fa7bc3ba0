import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import type { ApiKey } from '../../../contracts/api-key.js';
import type { Grant } from '../../../contracts/grant.js';
import { createKeyAuthority } from '../../../edge/access/key-authority.js';

const [id, secret] = ['0123456789abcdef', 'S'.repeat(32)];
const grant: Grant = { tenant: 'acme', tier: 'standard', permissions: ['predict'], models: ['coco'] };
const stored: ApiKey = {
  ...{ v: 1, secretHash: createHash('sha256').update(secret).digest('hex'), grant, label: '', createdAt: 0 },
};

/** A store whose answers a test decides, and clocks that it moves. */
function underTest(answer: () => ApiKey | undefined = () => stored) {
  const state = { reads: 0, at: 0, epoch: 1_000, hangs: false, answer };
  const authority = createKeyAuthority({
    read: async () => {
      state.reads++;
      if (state.hangs) return new Promise(() => undefined);
      return state.answer();
    },
    clock: { now: () => state.at },
    now: () => state.epoch,
    answerLimitMs: 1000,
  });
  return { state, ask: (given = secret, name = id) => authority({ id: name, secret: given }) };
}

test("a key's holder is who its grant says, and shares cached answers with nobody", async () => {
  assert.deepEqual(await underTest().ask(), {
    ...{ tenant: 'acme', tier: 'standard', permissions: ['predict'], models: ['coco'] },
    ...{ scope: 'acme', account: `key:${id}`, limits: undefined },
  });
  const shared = underTest(() => ({ ...stored, grant: { ...grant, scope: 'everybody' } }));
  assert.equal((await shared.ask()).scope, '~everybody');
});

test('unknown, revoked and wrong keys are refused in the same words', async () => {
  const told = (asked: Promise<unknown>) => asked.then(() => 'let in', String);
  const [unknown, ...others] = await Promise.all([
    told(underTest(() => undefined).ask()),
    told(underTest().ask('T'.repeat(32))),
    told(underTest().ask('')),
  ]);
  assert.match(unknown, /credentials_invalid/);
  assert.deepEqual(others, [unknown, unknown]);
});

test('a key is looked up once for all who ask at a time, and again after two seconds', async () => {
  const { state, ask } = underTest();
  await Promise.all(Array.from({ length: 50 }, () => ask()));
  assert.equal(state.reads, 1);
  state.at = 1999;
  await ask();
  assert.equal(state.reads, 1);
  state.at = 2000;
  await ask();
  assert.equal(state.reads, 2);
});

test('a revocation is felt within two seconds', async () => {
  const { state, ask } = underTest();
  await ask();
  state.answer = () => undefined;
  state.at = 2000;
  await assert.rejects(ask(), /credentials_invalid/);
});

test('a key that has expired is refused, by the time of day', async () => {
  const { state, ask } = underTest(() => ({ ...stored, expiresAt: 2_000 }));
  await ask();
  state.epoch = 2_000;
  await assert.rejects(ask(), /credentials_expired/);
  await assert.rejects(ask('T'.repeat(32)), /credentials_invalid/);
});

test('while Redis is away known keys are believed for a minute, and unknown ones may come again', async () => {
  const { state, ask } = underTest();
  await ask();
  state.answer = () => {
    throw new Error('away');
  };
  state.at = 59_999;
  assert.equal((await ask()).tenant, 'acme');
  await assert.rejects(ask(secret, 'fedcba9876543210'), /stream_unavailable/);
  state.at = 60_000;
  await assert.rejects(ask(), /stream_unavailable/);
});

test('a store that hangs keeps nobody waiting whose key is known', async () => {
  const { state, ask } = underTest();
  await ask();
  state.at = 2000;
  state.hangs = true;
  assert.equal((await ask()).tenant, 'acme');
  const asked = state.reads;
  for (let i = 0; i < 100; i++) await ask();
  assert.equal(state.reads, asked);
});

test('a guesser neither fills the memory nor asks the store twice for one guess', async () => {
  const { state, ask } = underTest(() => undefined);
  for (let round = 0; round < 2; round++) await ask(secret, 'one guess').catch(() => undefined);
  assert.equal(state.reads, 1);
  for (let guess = 0; guess < 10_000; guess++) await ask(secret, String(guess)).catch(() => undefined);
  assert.equal(state.reads, 10_001);
  await ask(secret, 'one guess').catch(() => undefined);
  assert.equal(state.reads, 10_002);
});
