import assert from 'node:assert/strict';
import { test } from 'node:test';
import { addUsage, readUsage, type Usage } from '../../contracts/usage.js';
import { createUsageAccount } from '../../edge/usage.js';
import { testRedis } from '../redis.js';

const client = (await testRedis()).client();
const one: Usage = { requests: 1, pictures: 1, hits: 0, failures: 0 };
const noon = Date.UTC(2027, 5, 30, 12);

test('what several edges count for tenants and days adds up', async () => {
  let now = noon;
  const add = (day: string, byTenant: ReadonlyMap<string, Usage>) => addUsage(client, day, byTenant);
  const edges = [createUsageAccount({ add, now: () => now }), createUsageAccount({ add, now: () => now })];
  for (const edge of edges) {
    for (let i = 0; i < 3; i++) edge.count('acme', one);
    edge.count('other', { requests: 1, pictures: 0, hits: 1, failures: 1 });
  }
  now += 86_400_000;
  edges[0]?.count('acme', one);
  await Promise.all(edges.map((edge) => edge.flush()));
  assert.deepEqual(Object.fromEntries(await readUsage(client, '2027-06-30')), {
    acme: { requests: 6, pictures: 6, hits: 0, failures: 0 },
    other: { requests: 2, pictures: 0, hits: 2, failures: 2 },
  });
  assert.deepEqual(Object.fromEntries(await readUsage(client, '2027-07-01')), { acme: one });
});

test('what cannot be written is kept, and written later together with what came since', async () => {
  const written: Usage[] = [];
  let away = true;
  const account = createUsageAccount({
    now: () => noon,
    add: async (_day, byTenant) => {
      if (away) throw new Error('away');
      written.push(...byTenant.values());
    },
  });
  account.count('acme', one);
  await account.flush();
  account.count('acme', one);
  away = false;
  await account.flush();
  await account.flush();
  assert.deepEqual(written, [{ requests: 2, pictures: 2, hits: 0, failures: 0 }]);
});
