import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { pino } from 'pino';
import { simulatedLabel, simulatedModel } from '../../backend/model/simulated-model.js';
import { startProcess } from '../../backend/process.js';
import { loadConfig as loadBackendConfig } from '../../backend/config.js';
import { Failure, failures } from '../../contracts/failure.js';
import { partitionKeys, replyChannel } from '../../contracts/keys.js';
import { encodeReplies } from '../../contracts/reply.js';
import { defineScripts } from '../../contracts/scripts/scripts.js';
import { createCrossing, type Crossed, type Order } from '../../edge/crossing.js';
import { createEdgeMetrics } from '../../edge/metrics.js';
import { startRequestTrace } from '../../edge/telemetry.js';
import { createProducer } from '../../edge/producer.js';
import { createWaiter } from '../../edge/waiter.js';
import { carryingTracer } from '../../infra/process/carrying-tracer.js';
import { connectCommands, connectSubscriber, untilReady } from '../../infra/process/redis-connection.js';
import { startTelemetry } from '../../infra/process/telemetry.js';
import { scrape } from '../exposition.js';
import { holdingProxy } from '../holding-proxy.js';
import { servedBy, until } from '../integration/system.js';
import { keysLeft, testRedis } from '../redis.js';
import {
  deliver,
  enqueueRequest,
  leaveOne,
  resultBytes,
  toyKeys,
  toyStream,
  unlimited,
  type WantedTask,
  idsIn,
} from '../tasks.js';

const redis = await testRedis();
const client = defineScripts(redis.client());
const silent = pino({ level: 'silent' });
/** Only a broken promise waits so long. */
const long = 30_000;
const tasks = process.env['SAMPAN_TEST_LONG'] ? 50_000 : 10_000;
const {
  meter,
  metricsUrl = '',
  shutdown,
} = await startTelemetry({
  ...{ service: 'sampan-edge', instance: 'one', host: '127.0.0.1', metricsPort: 0, env: {} },
});
after(shutdown);
const metrics = createEdgeMetrics(meter);
beforeEach(() => client.flushall());

/** The parts of one edge that stand between a request and the stream. */
async function edgeNamed(edge: string, url = redis.url) {
  const commands = redis.adopt(defineScripts(connectCommands(url, { name: `${edge}-commands`, logger: silent })));
  await untilReady(commands, 10_000);
  // Its clock stands still, so no stored result is found by the way: messages and reconnections must do.
  const waiter = createWaiter({ client: commands, now: () => 0 });
  after(() => waiter.close());
  await new Promise<void>((resolve) => {
    const onSubscribed = () => {
      waiter.checkAll();
      resolve();
    };
    const channels = [replyChannel(edge)];
    const subscriber = connectSubscriber(redis.url, {
      name: `${edge}-replies`,
      logger: silent,
      channels,
      onSubscribed,
    });
    redis.adopt(subscriber).on('smessageBuffer', (_channel: Buffer, message: Buffer) => waiter.receive(message));
  });
  const limits = unlimited;
  const producer = createProducer({
    ...{ client: commands, edge, limits, share: { shareMs: 2000, timeoutMs: 10_000 }, nextTurn: setImmediate },
    tasksPerSecond: () => 0,
  });
  const cross = createCrossing({ client: commands, producer, waiter, limits, metrics });
  return { cross, waiter };
}

type Edge = Awaited<ReturnType<typeof edgeNamed>>;
let one: Edge;
let two: Edge;
before(async () => {
  [one, two] = await Promise.all([edgeNamed('edge-1'), edgeNamed('edge-2')]);
});

function order(wanted: WantedTask = {}, signal?: AbortSignal): Order {
  const { spec, work, image } = enqueueRequest(wanted);
  const trace = startRequestTrace(carryingTracer, undefined, 'test', {});
  return { spec, work, image, trace, signal, timeLeftMs: wanted.timeLeftMs ?? long };
}

const toyKeysLeft = async () => (await keysLeft(client)).filter((key) => key.startsWith('sampan:{toy:'));
const idsOfEntries = async () => idsIn(await client.xrange(toyStream, '-', '+'));
const taskSent = async (count = 1) => until(idsOfEntries, (ids) => ids.length === count);
const waitersOf = (id: string, count: number) =>
  until(
    () => client.hget(toyKeys.task(id), 'waiters'),
    (waiters) => Number(waiters ?? 1) === count,
  );
const publish = (edge: string, id: string, result: Buffer) =>
  client.spublish(replyChannel(edge), encodeReplies([{ id, result }]));

/** Does what a consumer does at the end of a task. */
async function answer(id: string, predictions: string): Promise<void> {
  const result = resultBytes(predictions);
  const left = await leaveOne(client, id, { result });
  assert.ok(left.how === 'left');
  for (const edge of left.edges) await publish(edge, id, result);
}

function predictionsOf({ result }: Crossed): string {
  assert.ok(result.outcome === 'succeeded', JSON.stringify(result));
  return Buffer.from(result.predictions).toString();
}

const codeOf = async (crossing: Promise<Crossed>) => {
  const end: unknown = await crossing.catch((error: unknown) => error);
  assert.ok(end instanceof Failure, JSON.stringify(end));
  return end.code;
};

const noneWaits = () => assert.deepEqual([one.waiter.waiting, two.waiter.waiting], [0, 0]);
/** Series appear with their first count. */
const lost = async () => (await scrape(metricsUrl)).find('tasks_lost_total')[0]?.value ?? 0;

test('a request crosses and comes back with what the consumer said', async () => {
  const crossing = one.cross(order());
  const [id = ''] = await taskSent();
  await answer(id, '["here"]');
  const crossed = await crossing;
  assert.deepEqual([crossed.id, crossed.cache, predictionsOf(crossed)], [id, 'miss', '["here"]']);
  noneWaits();
});

test('a reply that overtakes the answer to the enqueueing is not missed', async () => {
  const proxy = await holdingProxy(redis.port);
  const slow = await edgeNamed('edge-slow', proxy.url);
  proxy.hold();
  const crossing = slow.cross(order());
  const [id = ''] = await taskSent();
  await answer(id, '["overtook"]');
  // Only the message can have told: the stored one is taken away.
  await client.del(toyKeys.result(id));
  proxy.release();
  assert.equal(predictionsOf(await crossing), '["overtook"]');
  assert.equal(slow.waiter.waiting, 0);
});

test('requests of two edges that join share one task, and both are answered', async () => {
  const first = one.cross(order());
  const [id = ''] = await taskSent();
  const others = [two.cross(order()), one.cross(order()), two.cross(order())];
  await waitersOf(id, 4);
  assert.equal((await idsOfEntries()).length, 1);
  await answer(id, '["shared"]');
  const crossed = await Promise.all([first, ...others]);
  assert.deepEqual(crossed.map(predictionsOf), Array(4).fill('["shared"]'));
  assert.deepEqual(
    crossed.map(({ cache }) => cache),
    ['miss', 'joined', 'joined', 'joined'],
  );
  assert.deepEqual([...new Set(crossed.map((each) => each.id))], [id]);
  noneWaits();
});

// Bounded, since at its deadline each request would look for the last time.
test(
  'row 31: replies published while the subscription was cut are read from what is stored',
  { timeout: 20_000 },
  async () => {
    const crossings = Array.from({ length: 20 }, (_, i) => one.cross(order({ image: Buffer.from(`cut ${i}`) })));
    const ids = await taskSent(20);
    const results = ids.map((id) => resultBytes(`["${id}"]`));
    for (const [i, id] of ids.entries()) await leaveOne(client, id, { result: results[i] ?? Buffer.alloc(0) });
    const list = String(await client.client('LIST'));
    const subscriber = /^id=(\d+) .*name=edge-1-replies/m.exec(list)?.[1] ?? '';
    // In one go, so that the messages find nobody.
    const transaction = client.multi().client('KILL', 'ID', subscriber);
    for (const [i, id] of ids.entries()) {
      transaction.spublish(replyChannel('edge-1'), encodeReplies([{ id, result: results[i] ?? Buffer.alloc(0) }]));
    }
    const [killed, ...heard] = ((await transaction.exec()) ?? []).map(([, reply]) => reply);
    assert.deepEqual([killed, new Set(heard)], [1, new Set([0])]);
    const crossed = await Promise.all(crossings);
    assert.deepEqual(crossed.map(predictionsOf).sort(), ids.map((id) => `["${id}"]`).sort());
    noneWaits();
  },
);

test('tasks that Redis lost are told as such by their deadline, and counted', async () => {
  const before = await lost();
  const crossings = Array.from({ length: 5 }, (_, i) =>
    one.cross(order({ image: Buffer.from(`lost ${i}`), timeLeftMs: 800 })),
  );
  await taskSent(5);
  await client.flushall();
  const codes = await Promise.all(crossings.map(codeOf));
  assert.deepEqual(codes, Array(5).fill('task_lost'));
  assert.ok(failures.task_lost.retryable);
  assert.equal(await lost(), before + 5);
  noneWaits();
});

test('a result that is stored but never told is given at the deadline at the latest', async () => {
  const crossing = one.cross(order({ timeLeftMs: 300 }));
  const [id = ''] = await taskSent();
  await leaveOne(client, id, { result: resultBytes('["stored"]') });
  assert.equal(predictionsOf(await crossing), '["stored"]');
});

test('a task nobody answers is cancelled at the deadline, and leaves nothing', async () => {
  assert.equal(await codeOf(one.cross(order({ timeLeftMs: 50 }))), 'deadline_exceeded');
  assert.deepEqual(await toyKeysLeft(), [toyStream]);
  assert.equal(await client.xlen(toyStream), 0);
  noneWaits();
});

test('the task of a client that went away leaves when nobody else waits for it', async () => {
  const going = new AbortController();
  const crossing = one.cross(order({}, going.signal));
  await taskSent();
  await deliver(client, 'one', 1);
  going.abort();
  assert.equal(await codeOf(crossing), 'deadline_exceeded');
  assert.deepEqual([await client.xlen(toyStream), await toyKeysLeft()], [0, [toyStream]]);
  noneWaits();
});

test('the task of a client that went away stays while somebody else waits for it', async () => {
  const going = new AbortController();
  const first = one.cross(order({}, going.signal));
  const [id = ''] = await taskSent();
  const second = two.cross(order());
  await waitersOf(id, 2);
  going.abort();
  assert.equal(await codeOf(first), 'deadline_exceeded');
  assert.deepEqual(await idsOfEntries(), [id]);
  await answer(id, '["for the other"]');
  assert.equal(predictionsOf(await second), '["for the other"]');
  noneWaits();
});

test('a client that joined and went away does not take the task from the first', async () => {
  const first = one.cross(order());
  const [id = ''] = await taskSent();
  const late = two.cross(order({ timeLeftMs: 50 }));
  assert.equal(await codeOf(late), 'deadline_exceeded');
  assert.deepEqual(await idsOfEntries(), [id]);
  await answer(id, '["still here"]');
  assert.equal(predictionsOf(await first), '["still here"]');
  noneWaits();
});

test('where the stream is out of memory a request is told so at once', async () => {
  await client.config('SET', 'maxmemory', '1');
  try {
    assert.equal(await codeOf(one.cross(order())), 'stream_unavailable');
  } finally {
    await client.config('SET', 'maxmemory', '0');
  }
  noneWaits();
});

// One completion that is missed would make its request wait for ten minutes, and the test for its own bound.
test(
  'row 16: of ten thousand tasks that take no time none hangs, and each gets its own answer',
  { timeout: 180_000 },
  async () => {
    const model = simulatedModel({ manifest: { name: 'quick' } });
    const config = loadBackendConfig({
      ...{ REDIS_URL: redis.url, SAMPAN_CACHE: 'off', SAMPAN_CONSUMER: 'quick' },
      ...{ HEALTH_PORT: '0', METRICS_PORT: '0' },
    });
    const backend = await startProcess({ config, served: servedBy(model), log: silent, env: {} });
    let sent = 0;
    const caller = async (edge: Edge) => {
      while (sent < tasks) {
        const image = Buffer.from(`quick ${sent++}`);
        const [prediction] = JSON.parse(
          predictionsOf(await edge.cross(order({ model: 'quick', image, timeLeftMs: 600_000 }))),
        ) as [{ label: string }];
        assert.equal(prediction.label, simulatedLabel(image));
      }
    };
    let finished = false;
    try {
      await Promise.all(Array.from({ length: 128 }, (_, i) => caller(i % 2 === 0 ? one : two)));
    } finally {
      finished = await backend.stop();
    }
    assert.equal(finished, true);
    assert.equal(model.journal.answered.length, tasks);
    noneWaits();
    const keys = (await keysLeft(client)).filter((key) => key.startsWith('sampan:{quick') && !key.includes(':result:'));
    assert.deepEqual(keys, [partitionKeys('quick').tasks('normal')]);
  },
);

test('where the stream is away a request is told so, and the next ones are served when it is back', async () => {
  await redis.stop();
  assert.equal(await codeOf(one.cross(order())), 'stream_unavailable');
  await redis.start();
  await until(
    () =>
      one.cross(order({ timeLeftMs: 50 })).catch((error: unknown) => (error instanceof Failure ? error.code : error)),
    (end) => end === 'deadline_exceeded',
  );
  noneWaits();
});
