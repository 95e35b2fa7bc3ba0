import assert from 'node:assert/strict';
import { randomBytes } from 'node:crypto';
import { test } from 'node:test';
import { missingFromMiss } from '../../../infra/trace/miss-trace.js';
import type { ReceivedSpan } from '../../../infra/trace/otlp-spans.js';
import { testOtlpReceiver } from '../../otlp-receiver.js';
import { picture } from '../../pictures.js';
import { testRedisPair } from '../../redis.js';
import { predict } from '../system.js';
import { runningBackend, runningEdge } from './parts.js';

const receiver = await testOtlpReceiver();
const redis = await testRedisPair();
/** The parts sample everything by themselves, so that what is left out is the caller's decision. */
const env = {
  ...{ REDIS_URL: redis.stream.url, CACHE_REDIS_URL: redis.cache.url },
  ...{ OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '50', OTEL_TRACES_SAMPLER_ARG: '1' },
};
const arrivalMs = 15_000;
const model = 'traced';
await runningBackend(model, env, { baseMs: 30, maxBatch: 8 });
const { url } = await runningEdge(env);

interface Sent {
  readonly traceId: string;
  readonly flags: '00' | '01';
}

let number = 0;
/** Sends pictures that nobody sent before, all at once, with these flags in turn. */
async function send(count: number, ...flags: readonly Sent['flags'][]): Promise<readonly Sent[]> {
  return Promise.all(
    Array.from({ length: count }, async (_, i) => {
      const sent = { traceId: randomBytes(16).toString('hex'), flags: flags[i % flags.length] ?? '00' };
      const traceparent = `00-${sent.traceId}-${randomBytes(8).toString('hex')}-${sent.flags}`;
      const { status, headers } = await predict(url, model, picture(number++), { traceparent });
      assert.equal(status, 200);
      assert.equal(headers.get('traceresponse')?.slice(3, 35), sent.traceId);
      return sent;
    }),
  );
}

const sampledOf = (sent: readonly Sent[]) => sent.filter(({ flags }) => flags === '01').map(({ traceId }) => traceId);
const spansOf = (traceId: string) => receiver.spans().filter((span) => span.traceId === traceId);
/** Each process sends its spans in order: those of earlier requests are here when those of a later one are. */
async function arrived(traceIds: readonly string[]): Promise<void> {
  await receiver.waitFor((all) => traceIds.every((id) => missingFromMiss(all, id).length === 0), arrivalMs);
}

test('row 29: an unsampled request exports nothing, also where it shares a batch with sampled ones', async () => {
  const sent = [...(await send(16, '00')), ...(await send(16, '00', '01')), ...(await send(1, '01'))];
  await arrived(sampledOf(sent));
  const unsampled = new Set(sent.filter(({ flags }) => flags === '00').map(({ traceId }) => traceId));
  const told = receiver.spans().filter((span) => unsampled.has(span.traceId));
  assert.deepEqual(told.map(nameOf), []);
  const links = receiver.spans().flatMap((span) => span.links);
  assert.ok(!links.some(({ traceId }) => unsampled.has(traceId)));
  // A batch of unsampled members alone is nobody's to tell of.
  assert.ok(batches().every(({ links: members }) => members.length > 0));
});

test('row 29: a trace ends with its reply, and nothing that happens later is added to it', async () => {
  const traceIds = sampledOf(await send(16, '01'));
  await arrived(traceIds);
  const before = traceIds.map((id) => spansOf(id).map(nameOf).sort());
  for (const id of traceIds) {
    const spans = spansOf(id);
    const server = spans.find(({ kind }) => kind === 'server');
    assert.ok(server);
    assert.deepEqual(spans.filter((span) => span.startNs > server.endNs).map(nameOf), []);
  }
  for (let round = 0; round < 4; round++) await arrived(sampledOf(await send(16, '01')));
  assert.deepEqual(
    traceIds.map((id) => spansOf(id).map(nameOf).sort()),
    before,
  );
});

test('requests that joined keep traces of their own, and each links the one whose task it joined', async () => {
  const image = picture('the same for all');
  const traceIds = Array.from({ length: 8 }, () => randomBytes(16).toString('hex'));
  const filler = send(16, '01');
  const asked = traceIds.map((id) =>
    predict(url, model, image, { traceparent: `00-${id}-${randomBytes(8).toString('hex')}-01` }),
  );
  const [answers] = await Promise.all([Promise.all(asked), filler]);
  const joined = traceIds.filter((_, i) => answers[i]?.cache === 'joined');
  const [first = ''] = traceIds.filter((_, i) => answers[i]?.cache === 'miss');
  assert.equal(joined.length, 7);
  assert.equal(new Set(answers.map(({ headers }) => headers.get('x-request-id'))).size, 8);
  const enqueueOf = (id: string) => spansOf(id).find(({ kind }) => kind === 'producer');
  await receiver.waitFor(() => [...joined, first].every((id) => enqueueOf(id) !== undefined), arrivalMs);
  const { spanId } = enqueueOf(first) ?? assert.fail();
  for (const id of joined) assert.deepEqual(enqueueOf(id)?.links, [{ traceId: first, spanId }]);
});

test('row 29: a batch is a trace of its own that links its members; theirs are no longer for having company', async () => {
  const [alone = ''] = sampledOf(await send(1, '01'));
  const together = sampledOf(await send(24, '01'));
  await arrived([alone, ...together]);
  const members = new Set([alone, ...together]);
  for (const id of together) assert.deepEqual(spansOf(id).map(nameOf).sort(), spansOf(alone).map(nameOf).sort());

  const ran = batches().filter(({ links }) => links.some(({ traceId }) => members.has(traceId)));
  assert.ok(ran.some(({ links }) => links.length > 1));
  assert.equal(ran.flatMap(({ links }) => links).length, members.size);
  for (const batch of ran) {
    assert.equal(batch.parentSpanId, '');
    assert.ok(!members.has(batch.traceId));
    assert.equal(receiver.spans().filter(({ traceId }) => traceId === batch.traceId).length, 1);
  }
  const processed = receiver.spans().filter(({ name, traceId }) => name === 'process' && members.has(traceId));
  assert.deepEqual(
    ran.flatMap(({ links }) => links.map(({ spanId }) => spanId)).sort(),
    processed.map(({ spanId }) => spanId).sort(),
  );
});

function batches(): readonly ReceivedSpan[] {
  return receiver.spans().filter(({ name }) => name === 'batch');
}

function nameOf({ service, name }: ReceivedSpan): string {
  return `${service} ${name}`;
}
