import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { createLatch } from '../../backend/model/latch.js';
import { simulatedModel } from '../../backend/model/simulated-model.js';
import { listTraces, readTrace } from '../../contracts/kept-traces.js';
import { scrape } from '../exposition.js';
import { startFaultProxy } from '../fault-proxy.js';
import { picture } from '../pictures.js';
import { runOps } from './ops.js';
import { predict, servedBy, testSystem, until } from './system.js';

/** Traces that are kept in Redis, and what operators see of them. */
const model = 'traced';
const system = await testSystem();
const { cache } = system;
const proxy = await startFaultProxy(Number(new URL(system.env['CACHE_REDIS_URL'] ?? '').port));
after(() => proxy.close());
const keeping = { SAMPAN_TRACE_STORE: 'on', CACHE_REDIS_URL: proxy.url };
const edge = await system.edge(keeping);
const faults = { failRunOn: '#fails#' };
const backend = await system.backend(servedBy(simulatedModel({ manifest: { name: model }, faults })), keeping);
const ops = (...words: readonly string[]) => runOps(system.env, 'trace', ...words);

let traces = 0;
/** Sends a picture in a trace of the caller's, which it is told in flags whether to sample. */
async function send(
  image: Buffer<ArrayBuffer>,
  flags: '00' | '01' = '01',
  headers: Record<string, string> = {},
  asked = model,
) {
  traces += 1;
  const traceId = (0xabc000 + traces).toString(16).padEnd(32, '0');
  const traceparent = `00-${traceId}-${'c'.repeat(16)}-${flags}`;
  const answer = await predict(edge.url, asked, image, { traceparent, ...headers });
  return { traceId, ...answer };
}
const spansOf = (traceId: string, count: number) =>
  until(
    () => readTrace(cache, traceId),
    (spans) => spans.length >= count,
  );
const wholeMiss = 10;

test('one miss is one whole trace of nine spans, read by its id, with its batch', async () => {
  const { traceId, status } = await send(picture('one miss'));
  assert.equal(status, 200);
  const spans = await spansOf(traceId, wholeMiss);
  const own = spans.filter((span) => span.traceId === traceId);
  assert.deepEqual(own.map(({ name }) => name).sort(), [
    'POST /v1/models/:model/predict',
    'cache lookup',
    'decode',
    'digest',
    'enqueue',
    'infer',
    'process',
    'settle',
    'wait',
  ]);
  assert.deepEqual([...new Set(own.map(({ service }) => service))].sort(), ['sampan-backend', 'sampan-edge']);
  const [batch, ...others] = spans.filter((span) => span.traceId !== traceId);
  assert.deepEqual([batch?.name, others], ['batch', []]);
  const back = await spansOf(batch?.traceId ?? '', 2);
  assert.deepEqual(back.map(({ name }) => name).sort(), ['batch', 'process']);
});

test('an unsampled request leaves nothing', async () => {
  const { traceId: unsampled } = await send(picture('unsampled'), '00');
  // Spans are kept in their order: when those of a later request are here, earlier ones would be.
  await spansOf((await send(picture('after it'))).traceId, wholeMiss);
  assert.deepEqual(await readTrace(cache, unsampled), []);
});

test('a trace is drawn by the id of the trace, of its request and of its task, with its batch', async () => {
  const { traceId, body } = await send(picture('drawn'), '01', { 'x-request-id': 'asked-for' });
  await spansOf(traceId, wholeMiss);
  const { code, out, err } = await ops(traceId);
  assert.deepEqual([code, err], [0, '']);
  const [tree = '', told = ''] = out.split('\n\n');
  const lines = tree.split('\n');
  assert.equal(lines[0], `trace ${traceId}, 9 spans`);
  assert.match(lines[1] ?? '', /^POST \/v1\/models\/:model\/predict .* ms .*http\.response\.status_code=200/);
  assert.match(lines.at(-1) ?? '', /^batch .* messaging\.batch\.message_count=1 /);
  const [parts = '', verdict = ''] = told.split('\n');
  assert.match(parts, /^[0-9.]+ ms: (body|digest) .* \+ queue .* \+ decode .* \+ device .* \+ settle /);
  assert.match(verdict, /^\d+ % [a-z ]+ \([0-9.]+ ms\); too few others are kept/);
  assert.equal((await ops('asked-for')).out, out);
  assert.equal((await ops(body.id)).out, out);
});

test('the verdict names the part that was slow, beside what is usual for its model', async () => {
  const latch = createLatch();
  await system.backend(servedBy(simulatedModel({ manifest: { name: 'stuck' }, latch })), keeping);
  for (let i = 0; i < 6; i++)
    await spansOf((await send(picture(`usual ${String(i)}`), '01', {}, 'stuck')).traceId, wholeMiss);
  latch.hold();
  const slow = send(picture('stuck'), '01', {}, 'stuck');
  await latch.arrived();
  // The fault itself: a device that stands still for so long.
  setTimeout(() => latch.release(), 400);
  const { traceId } = await slow;
  await spansOf(traceId, wholeMiss);
  assert.match((await ops(traceId)).out, /\n\d+ % device; device took \d{3}\.\d ms, where [0-9.]+ ms are usual/);
  let again = 0;
  const verdictOnAnother = async () => {
    const usual = await send(picture(`usual again ${String((again += 1))}`), '01', {}, 'stuck');
    await spansOf(usual.traceId, wholeMiss);
    return (await ops(usual.traceId)).out;
  };
  // A machine that is busy may slow one down, too.
  await until(verdictOnAnother, (out) => /; nothing unusual beside \d+ others$/.test(out));
});

test('a trace shows how many ran with it, and its batch shows who', async () => {
  const latch = createLatch();
  const held = simulatedModel({ manifest: { name: 'mates' }, latch });
  await system.backend(servedBy(held), keeping);
  latch.hold();
  const first = send(picture('in front'), '01', {}, 'mates');
  await latch.arrived();
  const decoded = held.journal.decoded;
  const mates = [1, 2, 3].map((mate) => send(picture(`mate ${String(mate)}`), '01', {}, 'mates'));
  await until(
    () => held.journal.decoded,
    (count) => count === decoded + 3,
  );
  latch.release();
  await first;
  const ids = (await Promise.all(mates)).map(({ traceId }) => traceId);
  const [spans = []] = await Promise.all(ids.map((traceId) => spansOf(traceId, wholeMiss)));
  const batch = spans.find(({ name }) => name === 'batch')?.traceId ?? '';
  assert.match((await ops(ids[0] ?? '')).out, /\nbatch .* messaging\.batch\.message_count=3 /);
  const drawn = (await ops(batch)).out;
  assert.equal(drawn.split('\n')[0], `trace ${batch}, 1 spans`);
  for (const id of ids) assert.match(drawn, new RegExp(`\nprocess .*\(a trace of its own, ${id.slice(0, 8)}…\)`));
});

test('the slowest and the failed are listed, and the first of them is drawn', async () => {
  const { traceId, status } = await send(picture('#fails#'), '01', { 'x-request-id': 'it-failed' });
  assert.equal(status, 500);
  await until(
    () => listTraces(cache, 'failed', 10),
    (failed) => failed.some((one) => one.traceId === traceId),
  );
  const failed = (await ops('failed')).out.split('\n');
  assert.match(failed[0] ?? '', /^when +ms +status +model +trace +request$/);
  assert.match(
    failed[1] ?? '',
    new RegExp(`^\\d{4}-\\d\\d-\\d\\d [0-9:.]{12} +[0-9.]+ +500 +traced +${traceId} +it-failed$`),
  );
  assert.deepEqual([failed[2], failed[3]?.split(',')[0]], ['', `trace ${traceId}`]);
  const slowest = await listTraces(cache, 'slow', 100);
  const ms = slowest.map((one) => one.ms ?? 0);
  assert.deepEqual(
    ms,
    [...ms].sort((a, b) => b - a),
  );
  const two = (await ops('slowest', '--count', '2')).out.split('\n\n');
  assert.equal(two[0]?.split('\n').length, 3);
  assert.ok(two[1]?.startsWith(`trace ${slowest[0]?.traceId ?? ''}, `));
});

test('what is not kept is told in words', async () => {
  const unknown = await ops('f'.repeat(32));
  assert.equal(unknown.code, 1);
  assert.equal(unknown.err, `no trace is kept by the id ${'f'.repeat(32)}: it was not sampled, or is too old`);
  assert.equal((await ops('slowest', '--count', 'many')).code, 1);
});

test('with the cache role gone requests are answered as ever, and what was not kept is counted on both sides', async () => {
  proxy.refuse();
  const { status } = await send(picture('without a cache'));
  assert.equal(status, 200);
  for (const { metricsUrl = '' } of [edge, backend]) {
    await until(
      async () => (await scrape(metricsUrl)).find('trace_spans_dropped_total', { reason: 'unwritten' })[0]?.value ?? 0,
      (dropped) => dropped > 0,
    );
  }
  proxy.accept();
  const since: string[] = [];
  await until(
    async () => {
      since.push((await send(picture(`back ${String(traces)}`))).traceId);
      return (await Promise.all(since.map((traceId) => readTrace(cache, traceId)))).flat();
    },
    (spans) => spans.length > 0,
  );
});
