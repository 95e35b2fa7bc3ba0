import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nextBatch, roomFor, splitByBytes, type BatchDecision, type ReadyQueue } from '../../backend/batcher.js';
import { seededRandom } from '../random.js';

const queue = (ready: number, oldestReadyAt: number, maxWaitMs = 0, model = 'toy'): ReadyQueue => ({
  ...{ model, solo: false, ready, oldestReadyAt, limit: { max: 8, maxWaitMs } },
});
const runs = (count: number, closed: 'full' | 'device_free' | 'max_wait', model = 'toy'): BatchDecision => ({
  ...{ run: true, model, solo: false, count, closed },
});
const rests = (lookAgainMs?: number): BatchDecision => ({ run: false, lookAgainMs });

const decisions: readonly [what: string, queues: ReadyQueue[], now: number, decision: BatchDecision][] = [
  ['there is no model', [], 0, rests()],
  ['nothing is ready', [queue(0, 0)], 1000, rests()],
  ['nothing is ready of a model that likes company', [queue(0, 0, 50)], 1000, rests()],
  ['one task is ready and the device is free', [queue(1, 100)], 100, runs(1, 'device_free')],
  ['some are ready', [queue(7, 100)], 100, runs(7, 'device_free')],
  ['as many are ready as fit', [queue(8, 100)], 100, runs(8, 'full')],
  ['more are ready than fit', [queue(20, 100)], 100, runs(8, 'full')],
  ['a model that likes company has just got its first', [queue(1, 100, 50)], 100, rests(50)],
  ['its company is still awaited', [queue(5, 100, 50)], 130, rests(20)],
  ['its wait is over', [queue(5, 100, 50)], 150, runs(5, 'max_wait')],
  ['its wait is long over, since the device was busy', [queue(5, 100, 50)], 900, runs(5, 'max_wait')],
  ['a full batch waits for nobody', [queue(8, 100, 50)], 100, runs(8, 'full')],
  [
    'of two models the one that waited longer runs',
    [queue(8, 200), queue(1, 100, 0, 'boy')],
    300,
    runs(1, 'device_free', 'boy'),
  ],
  [
    'the order of the models does not matter',
    [queue(1, 100, 0, 'boy'), queue(8, 200)],
    300,
    runs(1, 'device_free', 'boy'),
  ],
  [
    'one that waits for company lets another run',
    [queue(1, 100, 50), queue(1, 120, 0, 'boy')],
    120,
    runs(1, 'device_free', 'boy'),
  ],
  [
    'two wait for company: look again when the first may run',
    [queue(1, 100, 50), queue(1, 100, 30, 'boy')],
    110,
    rests(20),
  ],
  [
    'an empty model does not hide one that is ready',
    [queue(0, 0, 0, 'boy'), queue(1, 100)],
    100,
    runs(1, 'device_free'),
  ],
];

for (const [what, queues, now, decision] of decisions) {
  test(`${what}: ${decision.run ? `run ${decision.count}, ${decision.closed}` : 'rest'}`, () => {
    assert.deepEqual(nextBatch(queues, now), decision);
  });
}

test('a device that always runs what it is told leaves nobody behind, and idles only for a model that likes company', () => {
  const random = seededRandom(12);
  const names = ['a', 'b', 'c'];
  const waiting = new Map<string, number[]>(names.map((model) => [model, []]));
  let [made, ran, busyUntil] = [0, 0, 0];
  for (let now = 0; now < 5000; now++) {
    if (now < 3000 && random.int(2) === 0) made += waiting.get(random.pick(names))?.push(now) ? 1 : 0;
    if (now < busyUntil) continue;
    const queues = [...waiting].map(([model, at]) => queue(at.length, at[0] ?? 0, model === 'c' ? 40 : 0, model));
    const decision = nextBatch(queues, now);
    if (decision.run) {
      const taken = waiting.get(decision.model)?.splice(0, decision.count) ?? [];
      assert.equal(taken.length, decision.count);
      ran += taken.length;
      busyUntil = now + random.int(20);
    } else {
      assert.ok((decision.lookAgainMs ?? 0) <= 40);
      assert.deepEqual([waiting.get('a'), waiting.get('b')], [[], []]);
    }
  }
  assert.ok(made > 1000);
  assert.equal(ran, made);
});

test('there is room for one batch on the device and one in preparation', () => {
  const limit = { max: 8, maxWaitMs: 0 };
  assert.deepEqual(
    [0, 1, 8, 15, 16, 17, 100].map((held) => roomFor(limit, held)),
    [16, 15, 8, 1, 0, 0, 0],
  );
});

const split = (sizes: number[], budget: number) => splitByBytes(sizes, (bytes) => bytes, budget);

test('items are split in order into groups that fit; one that is larger goes alone', () => {
  assert.deepEqual(split([], 10), []);
  assert.deepEqual(split([4, 6], 10), [[4, 6]]);
  assert.deepEqual(split([4, 6, 1], 10), [[4, 6], [1]]);
  assert.deepEqual(split([11, 1], 10), [[11], [1]]);
  assert.deepEqual(split([1, 11, 1], 10), [[1], [11], [1]]);
  assert.deepEqual(split([0, 0, 10, 0], 10), [[0, 0, 10, 0]]);
});

test('whatever the sizes: no item is lost, no group is beyond the budget, none could take the next one too', () => {
  const random = seededRandom(13);
  for (let i = 0; i < 300; i++) {
    const sizes = Array.from({ length: random.int(40) }, () => random.int(30));
    const groups = split(sizes, 25);
    assert.deepEqual(groups.flat(), sizes);
    const sum = (group: readonly number[]) => group.reduce((total, bytes) => total + bytes, 0);
    for (const [at, group] of groups.entries()) {
      assert.ok(group.length === 1 || sum(group) <= 25);
      const next = groups[at + 1]?.[0];
      if (next !== undefined) assert.ok(sum(group) + next > 25);
    }
  }
});
