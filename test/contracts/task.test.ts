import assert from 'node:assert/strict';
import { test } from 'node:test';
import { newTaskId, parseTaskId, taskSpecSchema, tenantSchema, workKey } from '../../contracts/task.js';
import { specOf } from '../tasks.js';

const uuid = '01990000-0000-7000-8000-000000000000';

test('a task id tells model and partition', () => {
  for (const [model, partition] of [
    ['toy', 0],
    ['a', 7],
    ['x-1-y', 9999],
    ['m'.repeat(63), 1],
  ] as const) {
    assert.deepEqual(parseTaskId(newTaskId(model, partition)), { model, partition });
  }
});

test('ten thousand task ids are ten thousand, and sort by the millisecond they were made in', () => {
  const ids = Array.from({ length: 10_000 }, () => newTaskId('toy'));
  assert.equal(new Set(ids).size, ids.length);
  const milliseconds = ids.map((id) => id.slice(0, 'toy.0.01234567-89ab'.length));
  assert.deepEqual([...milliseconds].sort(), milliseconds);
});

test('a task id holds a UUID of version 7, with the time of now', () => {
  const before = Date.now();
  const [, , uuid = ''] = newTaskId('toy').split('.');
  assert.match(uuid, /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
  const time = parseInt(uuid.replace('-', '').slice(0, 12), 16);
  assert.ok(time >= before && time <= Date.now());
});

test('what is not a task id is not taken for one', () => {
  const wrong = [
    '',
    'toy',
    `toy.${uuid}`,
    `Toy.0.${uuid}`,
    `toy.0.${uuid.toUpperCase().replace('9', 'F')}`,
    `toy.-1.${uuid}`,
  ];
  const more = [
    `toy.00000.${uuid}`,
    `.0.${uuid}`,
    `toy.0.${uuid}\n`,
    ` toy.0.${uuid}`,
    `toy.0.${uuid}0`,
    `toy..${uuid}`,
  ];
  const hostile = [
    `${'m'.repeat(64)}.0.${uuid}`,
    `a b.0.${uuid}`,
    `{x}.0.${uuid}`,
    `toy.0.${uuid.slice(1)}`,
    `toy:0:${uuid}`,
  ];
  for (const id of [...wrong, ...more, ...hostile]) assert.equal(parseTaskId(id), undefined, JSON.stringify(id));
});

test('a tenant holds nothing that would break a key or a line that scripts split at spaces', () => {
  for (const tenant of ['a b', '', 'a:b', 'a{b}', 'a\n', 'é', 'x'.repeat(65)]) {
    assert.equal(tenantSchema.safeParse(tenant).success, false, JSON.stringify(tenant));
  }
  assert.equal(taskSpecSchema.safeParse(specOf({ tenant: 'Team_7-x' })).success, true);
});

test('the work key changes with scope, model, version, parameters and MD5, and holds no space', () => {
  const work = { scope: 's', model: 'toy', version: '1', params: 'top=1', md5: '0'.repeat(32) };
  const changes = [{ scope: 't' }, { model: 'boy' }, { version: '2' }, { params: '' }, { md5: '1'.repeat(32) }];
  const keys = [work, ...changes.map((change) => ({ ...work, ...change }))].map((one) => workKey(one, one.params));
  assert.equal(new Set(keys).size, 6);
  for (const key of keys) assert.doesNotMatch(key, /\s/);
});
