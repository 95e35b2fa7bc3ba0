import assert from 'node:assert/strict';
import { test } from 'node:test';
import { preferencesFrom } from '../../edge/prefer.js';

test('preferences are read in any order and case, and what is not known or makes no sense is passed over', () => {
  const nothing = { respondAsync: false, wait: undefined };
  assert.deepEqual(preferencesFrom(undefined), nothing);
  for (const header of ['', 'respond', 'wait', 'wait=', 'wait=-1', 'wait=1e3', 'wait=12345678', 'return=minimal, ,;']) {
    assert.deepEqual(preferencesFrom(header), nothing, header);
  }
  assert.deepEqual(preferencesFrom('Respond-Async'), { respondAsync: true, wait: undefined });
  assert.deepEqual(preferencesFrom('foo; bar="a", wait=10;x, respond-async'), { respondAsync: true, wait: 10 });
  assert.deepEqual(preferencesFrom('WAIT = "5", wait=7'), { respondAsync: false, wait: 5 });
});
