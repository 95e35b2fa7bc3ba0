import assert from 'node:assert/strict';
import { test } from 'node:test';
import { partitionKeys } from '../../../contracts/keys.js';
import { defineScripts } from '../../../contracts/scripts/scripts.js';
import { seededRandom } from '../../random.js';
import { keysLeft, testRedis } from '../../redis.js';
import {
  enqueueOne,
  type EnqueueRequest,
  deliver,
  enqueueRequest,
  leaveOne,
  pending,
  resultBytes,
  toyStream,
} from '../../tasks.js';

const steps = process.env['SAMPAN_TEST_LONG'] ? 20_000 : 2_000;
const redis = await testRedis();
const client = defineScripts(redis.client());
const keys = partitionKeys('toy');
const limits = { maxTasks: 30, maxBytes: 1_500 };

/** What Redis should hold, kept by the simplest means. */
interface InFlight {
  readonly request: EnqueueRequest;
  readonly edges: Set<string>;
  readonly marked: boolean;
  waiters: number;
}
const tasks = new Map<string, InFlight>();
const markers = new Map<string, string>();
const stored = new Set<string>();

const bytesInFlight = () => [...tasks.values()].reduce((sum, { request }) => sum + request.image.length, 0);

/** What enqueue should answer; changes the model as it should change Redis. */
function expectEnqueue(request: EnqueueRequest): string {
  const { id, work, spec, image, edge } = request;
  const marker = markers.get(work);
  const other = marker === undefined || marker === id ? undefined : tasks.get(marker);
  if (other && other.request.spec.sha256 === spec.sha256) {
    other.waiters++;
    other.edges.add(edge);
    return `joined ${other.request.id}`;
  }
  if (tasks.has(id) || stored.has(id)) return `admitted ${id}`;
  if (tasks.size + 1 > limits.maxTasks) return 'shed count';
  if (bytesInFlight() + image.length > limits.maxBytes) return 'shed bytes';
  const marked = marker === undefined;
  if (marked) markers.set(work, id);
  tasks.set(id, { request, marked, edges: new Set([edge]), waiters: 1 });
  return `admitted ${id}`;
}

function expectLeave(id: string, cancelled: boolean, stores: boolean): string {
  const task = tasks.get(id);
  if (!task) return 'gone';
  if (cancelled && task.waiters > 1) {
    task.waiters--;
    return 'shared';
  }
  tasks.delete(id);
  if (task.marked) markers.delete(task.request.work);
  if (stores) stored.add(id);
  return `left ${[...task.edges].join(' ')}`;
}

function expectedAccount(): Record<string, string> {
  const account: Record<string, number> = {};
  const add = (name: string, value: number) => (account[name] = (account[name] ?? 0) + value);
  for (const { request } of tasks.values()) {
    const { tenant } = request.spec;
    for (const suffix of ['', `:${tenant}`]) {
      add(`count${suffix}`, 1);
      add(`bytes${suffix}`, request.image.length);
    }
  }
  return Object.fromEntries(Object.entries(account).map(([name, value]) => [name, String(value)]));
}

test('the account is exact after every step of a random walk, and at its end nothing is left', async () => {
  const seed = 20_261_105;
  const random = seededRandom(seed);
  const said: string[] = [];
  const sent: EnqueueRequest[] = [];

  const sendNew = () => {
    const kind = random.int(25);
    const image = Buffer.alloc(1 + kind * 4, kind);
    return enqueueRequest({
      // Every third kind has the MD5 of the one before it.
      ...{ image, tenant: random.pick(['a', 'b', 'c']), edge: random.pick(['edge-1', 'edge-2', 'edge-10']), limits },
      ...(kind % 3 === 2 ? { md5: String(kind - 1).padStart(32, '0') } : { md5: String(kind).padStart(32, '0') }),
    });
  };
  /** A command sent again; those that joined are left out, since a client does not send them twice. */
  const sendAgain = () => random.pick(sent.filter(({ id }) => tasks.has(id) || stored.has(id)));

  for (let step = 0; step < steps; step++) {
    const what = random.int(100);
    const about = `seed ${seed}, step ${step}`;
    if (what < 55 || sent.length === 0) {
      const request = what < 5 && tasks.size > 0 ? sendAgain() : sendNew();
      sent.push(request);
      const expected = expectEnqueue(request);
      const enqueued = await enqueueOne(client, request);
      const got = `${enqueued.how} ${enqueued.how === 'shed' ? enqueued.limit : enqueued.id}`;
      assert.equal(got, expected, about);
      assert.equal(enqueued.tasks, tasks.size, about);
      said.push(
        got
          .split(' ')
          .slice(0, got.startsWith('shed') ? 2 : 1)
          .join(' '),
      );
    } else if (what < 65) {
      await deliver(client, random.pick(['one', 'two']), random.int(6) + 1);
    } else {
      const { id } = random.pick(
        random.int(4) === 0 || tasks.size === 0 ? sent : [...tasks.values()].map((task) => task.request),
      );
      const cancelled = random.int(2) === 0;
      const stores = !cancelled && random.int(4) > 0;
      const expected = expectLeave(id, cancelled, stores);
      const left = await leaveOne(client, id, {
        ...{ reason: cancelled ? 'cancelled' : 'succeeded' },
        ...(stores ? { result: resultBytes() } : {}),
      });
      const got = left.how === 'left' ? `left ${left.edges.join(' ')}` : left.how;
      assert.equal(got, expected, about);
      said.push(left.how);
    }
    const [account, work, entries] = await Promise.all([
      client.hgetall(keys.load),
      client.hgetall(keys.work),
      client.xlen(toyStream),
    ]);
    const { admitted = '0', ...held } = account;
    assert.deepEqual(held, expectedAccount(), about);
    // All since it was last empty, those that have left included.
    assert.ok(Number(admitted) >= tasks.size && (tasks.size > 0 || admitted === '0'), about);
    assert.deepEqual({ ...work }, Object.fromEntries(markers), about);
    assert.equal(entries, tasks.size, about);
  }

  // The walk must have been everywhere.
  assert.deepEqual([...new Set(said)].sort(), [
    'admitted',
    'gone',
    'joined',
    'left',
    'shared',
    'shed bytes',
    'shed count',
  ]);
  for (const id of [...tasks.keys()]) {
    stored.add(id);
    await leaveOne(client, id, { result: resultBytes() });
  }
  assert.deepEqual(await pending(client), []);
  assert.equal(await client.xlen(toyStream), 0);
  assert.deepEqual(await keysLeft(client), [...[...stored].map((id) => keys.result(id)), toyStream].sort());
});
