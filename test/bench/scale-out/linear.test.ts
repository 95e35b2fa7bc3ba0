import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Round } from '../bench.js';
import { consumersSide, edgesSide, fullOf, linearGoals, lookupsSide, withShares } from './linear.js';

const at = (
  side: string,
  point: number,
  round: number,
  perSecond: number,
  busy = { redis: 0.1, machine: 0.2 },
): Round => ({
  ...{ side, point, round, values: { perSecond, ...busy } },
});
const shares = (rounds: readonly Round[]) => withShares(rounds).map(({ values }) => values['linear']);

test('a share is of n times what one did in the same round, of the same side', () => {
  const rounds = [
    at(consumersSide, 1, 0, 100),
    at(consumersSide, 4, 0, 380),
    at(consumersSide, 4, 1, 300),
    at(consumersSide, 1, 1, 75),
    at(lookupsSide, 1, 0, 5000),
    at(lookupsSide, 2, 0, 6000),
  ];
  assert.deepEqual(shares(rounds), [1, 0.95, 1, 1, 1, 0.6]);
});

test('edges before the same consumers are to do as much together as one', () => {
  assert.deepEqual(shares([at(edgesSide, 1, 0, 800), at(edgesSide, 4, 0, 800)]), [1, 1]);
});

test('a goal for each size beyond one, with what was full there and only there', () => {
  const full = { redis: 0.2, machine: 0.97 };
  const rounds = withShares([
    ...[at(consumersSide, 1, 0, 100), at(consumersSide, 2, 0, 198), at(consumersSide, 16, 0, 1200, full)],
    ...[at(lookupsSide, 1, 0, 100), at(lookupsSide, 2, 0, 110, { redis: 0.95, machine: 0.97 })],
  ]);
  assert.deepEqual(
    linearGoals(rounds).map(({ perRound, limit }) => [perRound, limit]),
    [
      [[0.99], undefined],
      [[0.75], 'the cores were full: 0.97 of them were busy'],
      [[0.55], 'Redis was full: busy for 0.95 of the time'],
    ],
  );
  assert.equal(fullOf(rounds, consumersSide, 2), undefined);
});
