import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Redis } from 'ioredis';
import { createLatch } from '../../../backend/model/latch.js';
import { simulatedLabel, simulatedModel } from '../../../backend/model/simulated-model.js';
import { consumerGroup, partitionKeys, replyChannel } from '../../../contracts/keys.js';
import { decodeReplies } from '../../../contracts/reply.js';
import { startFaultProxy } from '../../fault-proxy.js';
import { picture } from '../../pictures.js';
import { seededRandom } from '../../random.js';
import { idsIn } from '../../tasks.js';
import { leftovers, nothingLeft, predict, servedBy, testSystem, until, type Answered } from '../system.js';

const system = await testSystem();
const { stream } = system;
const streamUrl = new URL(system.env['REDIS_URL'] ?? '');
const named = (name: string) => {
  const latch = createLatch();
  return { latch, model: simulatedModel({ latch, manifest: { name } }) };
};
const tasksOf = (name: string) => partitionKeys(name).tasks('normal');
/** The one task of a model that is in flight. */
const taskInFlight = async (name: string) => {
  const work = await until(
    () => stream.hgetall(partitionKeys(name).work),
    (tasks) => Object.keys(tasks).length === 1,
  );
  return Object.values(work)[0] ?? '';
};

/** Connections to the stream role, as CLIENT LIST tells of them. */
async function connections(): Promise<readonly ReadonlyMap<string, string>[]> {
  const lines = String(await stream.client('LIST'))
    .trimEnd()
    .split('\n');
  return lines.map(
    (line) => new Map([...line.matchAll(/(\S+?)=(\S*)/g)].map(([, name = '', value = '']) => [name, value])),
  );
}

/** Says how many reads of a model's stream were begun since this was called, up to the moment at which it is asked. */
async function readsOf(model: string): Promise<() => Promise<number>> {
  const client = stream.duplicate();
  const monitor: Redis = await client.monitor();
  after(() => {
    monitor.disconnect();
    client.disconnect();
  });
  let reads = 0;
  let asked = 0;
  const marks = new Map<string, () => void>();
  monitor.on('monitor', (_time: string, [name = '', ...args]: readonly string[]) => {
    if (name.toLowerCase() === 'xreadgroup' && args.includes(tasksOf(model))) reads++;
    if (name.toLowerCase() === 'echo') marks.get(args[0] ?? '')?.();
  });
  return async () => {
    // The monitor tells of everything in order, this mark included.
    const mark = `mark-${asked++}`;
    const seen = new Promise<void>((resolve) => marks.set(mark, resolve));
    await Promise.all([stream.echo(mark), seen]);
    return reads;
  };
}

test('row 12: a lookup, and another model of the same backend, are answered while a blocking read is blocked', async () => {
  const [idle, busy] = [named('idle'), named('busy')];
  await system.backend(servedBy(idle.model, busy.model));
  const { url } = await system.edge();
  const reads = await readsOf('idle');
  /** The read that is blocked now: its connection, and how many were begun before. */
  const blockedRead = async () => {
    const all = await connections();
    const reader = all.find((one) => one.get('name') === 'backend-read-idle' && one.get('flags')?.includes('b'));
    return reader ? `${reader.get('id') ?? ''} ${await reads()}` : undefined;
  };
  const lookup = `${url}/v1/models/busy/results/${'0'.repeat(32)}?sha256=${'0'.repeat(64)}`;
  let attempts = 0;
  // A read ends by itself once a second, now and then in the middle of an attempt.
  const meanwhile = async () => {
    const before = await blockedRead();
    const answers = [(await fetch(lookup)).status, (await predict(url, 'busy', picture(attempts++))).status];
    assert.deepEqual(answers, [404, 200]);
    return before !== undefined && before === (await blockedRead());
  };
  await until(meanwhile, (answered) => answered || attempts === 20);
  assert.ok(attempts < 20, 'nothing was answered before the blocking read had ended');
});

test('row 31: a request whose reply finds no subscriber is answered with what was stored', async () => {
  const { latch, model } = named('unheard');
  await system.backend(servedBy(model));
  await stream.call('ACL', 'SETUSER', 'ear', 'on', '>pw', '+@all', 'allkeys', 'allchannels');
  const { url } = await system.edge({ REDIS_URL: `redis://ear:pw@${streamUrl.host}` });
  latch.hold();
  const image = picture('unheard');
  const asked = predict(url, 'unheard', image, { 'x-timeout-ms': '60000' });
  await latch.arrived();
  // The subscription cannot come back before the reply has been published.
  await stream.call('ACL', 'SETUSER', 'ear', '-ssubscribe');
  const edgeId = String(await stream.hget(partitionKeys('unheard').task(await taskInFlight('unheard')), 'edges'));
  const subscribers = async () => stream.call('PUBSUB', 'SHARDNUMSUB', replyChannel(edgeId));
  assert.deepEqual(await subscribers(), [replyChannel(edgeId), 1]);
  const all = await connections();
  const listening = all.find((one) => one.get('name') === 'edge-replies' && one.get('user') === 'ear');
  await stream.client('KILL', 'ID', listening?.get('id') ?? assert.fail('nobody listens'));
  assert.deepEqual(await subscribers(), [replyChannel(edgeId), 0]);
  latch.release();
  // Long before its deadline, at which it would look for the last time.
  const answer = await Promise.race([asked, sleep(20_000, undefined, { ref: false })]);
  assert.deepEqual([answer?.status, answer?.body.predictions?.[0].label], [200, simulatedLabel(image)]);
  assert.deepEqual(await subscribers(), [replyChannel(edgeId), 0]);
});

test('row 11: an enqueueing that ran, but whose reply was lost, is not inferred twice when the client tries again', async () => {
  const { latch, model } = named('resent');
  await system.backend(servedBy(model));
  const proxy = await startFaultProxy(Number(streamUrl.port));
  after(() => proxy.close());
  const { url } = await system.edge({ REDIS_URL: proxy.url });
  latch.hold();
  const front = predict(url, 'resent', picture('front'));
  await latch.arrived();
  const image = picture('resent');
  const dropped = proxy.dropReplyAfter('sampan:{resent:0}:image:');
  const first = await predict(url, 'resent', image);
  await dropped;
  assert.deepEqual([first.status, first.body.code, first.body.retryable], [503, 'stream_unavailable', true]);
  assert.equal(await stream.xlen(tasksOf('resent')), 2);

  // Right after its connection was lost the edge may refuse once more; then nothing was sent.
  const tryAgain = async (): Promise<Answered> => {
    const answer = await predict(url, 'resent', image, { 'x-timeout-ms': '60000' });
    return answer.status === 503 ? tryAgain() : answer;
  };
  const second = tryAgain();
  const ids = idsIn(await stream.xrange(tasksOf('resent'), '-', '+'));
  await until(
    () => stream.hget(partitionKeys('resent').task(ids[1] ?? ''), 'waiters'),
    (waiters) => waiters === '2',
  );
  latch.release();
  const { status, cache, body } = await second;
  assert.deepEqual([status, cache, body.predictions?.[0].label], [200, 'joined', simulatedLabel(image)]);
  assert.equal((await front).status, 200);
  assert.deepEqual(model.journal.answered, [simulatedLabel(picture('front')), simulatedLabel(image)]);
  assert.deepEqual(await leftovers(stream, 'resent'), nothingLeft);
});

test('row 15: a finished task that is delivered once more is not run again, and its caller had one reply', async () => {
  const { latch, model } = named('redelivered');
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  const keys = partitionKeys('redelivered');
  latch.hold();
  const [image, later] = [picture('redelivered'), picture('later')];
  const asked = predict(url, 'redelivered', image);
  await latch.arrived();
  const id = await taskInFlight('redelivered');
  const [entry] = await stream.xrange(tasksOf('redelivered'), '-', '+');
  assert.ok(entry);
  const heard = await repliesTo(String(await stream.hget(keys.task(id), 'edges')));
  latch.release();
  assert.equal((await asked).status, 200);
  assert.equal(await stream.xlen(tasksOf('redelivered')), 0);
  const result = await stream.getBuffer(keys.result(id));

  await stream.xadd(tasksOf('redelivered'), '*', ...entry[1]);
  await until(
    () => leftovers(stream, 'redelivered'),
    (left) => JSON.stringify(left) === JSON.stringify(nothingLeft),
  );
  // Whatever the redelivery told would have been told before the reply to another request.
  const { status, body } = await predict(url, 'redelivered', later);
  assert.equal(status, 200);
  assert.deepEqual(model.journal.answered, [image, later].map(simulatedLabel));
  assert.deepEqual(heard(), [id, body.id]);
  assert.deepEqual(await stream.getBuffer(keys.result(id)), result);
});

test('row 15: entries that are delivered again because their group was lost run once each, with one reply each', async () => {
  const { latch, model } = named('regrouped');
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  latch.hold();
  const pictures = Array.from({ length: 12 }, (_, i) => picture(`regrouped-${i}`));
  const asked = pictures.map((image) => predict(url, 'regrouped', image, { 'x-timeout-ms': '60000' }));
  const pending = async () => Number((await stream.xpending(tasksOf('regrouped'), consumerGroup).catch(() => [0]))[0]);
  const allDelivered = () => until(pending, (count) => count === pictures.length);
  await allDelivered();
  const [id = ''] = idsIn(await stream.xrange(tasksOf('regrouped'), '-', '+'));
  const heard = await repliesTo(String(await stream.hget(partitionKeys('regrouped').task(id), 'edges')));

  // As a replica that was promoted knows it: the entries are there, and nobody was given any.
  await stream.xgroup('DESTROY', tasksOf('regrouped'), consumerGroup);
  await allDelivered();
  latch.release();
  const answers = await Promise.all(asked);
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.predictions?.[0].label]),
    pictures.map((image) => [200, simulatedLabel(image)]),
  );
  await until(
    () => leftovers(stream, 'regrouped'),
    (left) => JSON.stringify(left) === JSON.stringify(nothingLeft),
  );
  const last = picture('after the group was lost');
  const { body } = await predict(url, 'regrouped', last);
  assert.deepEqual([...model.journal.answered].sort(), [...pictures, last].map(simulatedLabel).sort());
  assert.deepEqual([...heard()].sort(), [...answers, { body }].map((answer) => answer.body.id).sort());
});

test('row 3: pictures of any bytes reach the device as they were sent', async () => {
  const model = simulatedModel({ manifest: { name: 'bytes' } });
  const arrived: string[] = [];
  const noting = {
    ...model,
    decode: (image: Uint8Array) => {
      arrived.push(Buffer.from(image).toString('base64'));
      return model.decode(image);
    },
  };
  await system.backend(servedBy(noting));
  const { url } = await system.edge();
  const random = seededRandom(3);
  // What follows a JPEG's end is no part of the picture; every byte value, and what looks like UTF-8 or a line's end.
  const tails = [Buffer.from(Array.from({ length: 256 }, (_, i) => i)), Buffer.from('\r\n\0\n'), Buffer.of(0xc0, 0x80)];
  for (let i = 0; i < 100; i++) tails.push(random.bytes(1 + i * 19));
  const pictures = tails.map((tail, i) => Buffer.concat([picture(i), tail]));
  const answers = await Promise.all(pictures.map((image) => predict(url, 'bytes', image)));
  assert.deepEqual(
    answers.map(({ status, body }) => [status, body.predictions?.[0].label]),
    pictures.map((image) => [200, simulatedLabel(image)]),
  );
  assert.deepEqual(arrived.sort(), pictures.map((image) => image.toString('base64')).sort());
});

/** Listens to what an edge is told, and says of which tasks it was told so far. */
async function repliesTo(edge: string): Promise<() => readonly string[]> {
  const listener = stream.duplicate();
  after(() => listener.disconnect());
  const heard: string[] = [];
  listener.on('smessageBuffer', (_channel: Buffer, message: Buffer) => {
    heard.push(...decodeReplies(message).map(({ id }) => id));
  });
  await listener.ssubscribe(replyChannel(edge));
  return () => heard;
}
