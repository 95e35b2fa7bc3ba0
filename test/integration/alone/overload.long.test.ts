import assert from 'node:assert/strict';
import { test } from 'node:test';
import { accountOf, capacity, device, returnsOf, runCallers } from '../../overload/run.js';
import { isReady, startPart } from '../processes.js';
import { leftovers, nothingLeft, testSystem } from '../system.js';

const system = await testSystem();
const model = 'overloaded';
const seconds = process.env['SAMPAN_TEST_LONG'] === '1' ? 30 : 8;
const env = { ...system.env, SAMPAN_LOG_LEVEL: 'info' };
const backend = startPart('backend/main.js', {
  ...{ ...env, SAMPAN_CONSUMER: 'only' },
  SAMPAN_SIMULATED_DEVICE: JSON.stringify({ models: [model], ...device }),
});
await backend.line(isReady);
const edge = startPart('edge.mjs', env);
const url = String((await edge.line(({ msg }) => msg === 'listening'))['url']);

test('at ten times the capacity goodput stays at nine tenths of it, and who is admitted is answered in time', async (t) => {
  const perSecond = 10 * capacity;
  const load = { url, model, perSecond, requests: perSecond * seconds, timeoutMs: 2000, comeBack: false };
  const account = accountOf(await runCallers(load), load);
  t.diagnostic(JSON.stringify(account));
  assert.deepEqual(account.otherwise, {});
  assert.ok(account.shed > 0.8 * account.sent, `${account.shed} of ${account.sent} were shed`);
  assert.ok(account.goodput >= 0.9 * capacity, `${account.goodput} of ${capacity} a second`);
  assert.ok(account.late <= 0.01 * (account.succeeded + account.late), `${account.late} admitted ones were late`);
  assert.deepEqual(await leftovers(system.stream, model), nothingLeft);
});

test('of those who were shed and come back when they were told to, nine in ten are admitted then', async (t) => {
  const load = { url, model, perSecond: 10 * capacity, requests: 800, timeoutMs: 2000, comeBack: true };
  const calls = await runCallers(load);
  const { returned, admitted } = returnsOf(calls);
  t.diagnostic(`${returned} came back, ${admitted} were admitted then`);
  assert.ok(returned >= 400, `${returned} came back`);
  assert.ok(admitted >= 0.9 * returned, `${admitted} of ${returned} were admitted`);
  const answered = new Set(calls.filter(({ status }) => status === 200).map(({ caller }) => caller));
  assert.ok(answered.size >= 0.99 * load.requests, `${answered.size} of ${load.requests} were answered in the end`);
});
