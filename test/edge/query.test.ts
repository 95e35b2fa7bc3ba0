import assert from 'node:assert/strict';
import { test } from 'node:test';
import { queryOf } from '../../edge/query.js';
import { seededRandom } from '../random.js';

/** The same by the platform's own reader; a name that comes twice is refused by ours. */
function expected(query: string): readonly (readonly [string, string])[] | 'twice' {
  const pairs = [...new URLSearchParams(`?${query}`)];
  return new Set(pairs.map(([name]) => name)).size < pairs.length ? 'twice' : pairs;
}

function read(query: string): unknown {
  try {
    return [...queryOf(`http://edge/v1/models?${query}`)];
  } catch (error) {
    assert.match(String(error), /invalid_params.*twice/);
    return 'twice';
  }
}

test('a query is read as URLs are, whether something in it is encoded or not', () => {
  const random = seededRandom(11);
  const parts = ['a', 'b', 'top', '=', '&', '?', '#', '.', '-', '5', '%35', '%26', '%', '+', '__proto__', ';'];
  for (let round = 0; round < 5000; round++) {
    const some = parts.slice(0, round % 2 === 0 ? 10 : parts.length);
    const query = Array.from({ length: random.int(9) }, () => random.pick(some)).join('');
    assert.deepEqual(read(query), expected(query), query);
  }
});

test('a URL without a query gives nothing', () => {
  assert.equal(queryOf('http://edge/v1/models').size, 0);
});
