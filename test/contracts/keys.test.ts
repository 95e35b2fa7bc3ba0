import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  cacheKey,
  catalogueKey,
  partitionKeys,
  registerIndexKey,
  registerKey,
  replyChannel,
} from '../../contracts/keys.js';

/** What Redis Cluster hashes: the text between the first { and the next }. */
const hashTag = (key: string) => /\{([^}]+)\}/.exec(key)?.[1];

const allKeys = (model: string, partition: number) => {
  const keys = partitionKeys(model, partition);
  const ofTask = [keys.task('t'), keys.image('t'), keys.result('t')];
  return [keys.tasks('high'), keys.tasks('normal'), keys.tasks('low'), keys.work, keys.load, ...ofTask];
};

test('all keys of one partition lie in one slot, and another model or partition has a tag of its own', () => {
  for (const [model, partition] of [
    ['toy', 0],
    ['toy', 1],
    ['a-b', 0],
  ] as const) {
    assert.deepEqual([...new Set(allKeys(model, partition).map(hashTag))], [`${model}:${partition}`]);
  }
});

test('no two keys are the same', () => {
  const keys = [...allKeys('toy', 0), ...allKeys('toy', 1), ...allKeys('toy-0', 0), cacheKey('w'), catalogueKey];
  const all = [...keys, registerIndexKey, registerKey('c'), replyChannel('e')];
  assert.equal(new Set(all).size, all.length);
  for (const key of all) assert.match(key, /^sampan:/);
});

test('every edge has its own channel in a slot of its own', () => {
  assert.notEqual(hashTag(replyChannel('a')), hashTag(replyChannel('b')));
});
