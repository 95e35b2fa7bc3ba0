import assert from 'node:assert/strict';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { missingFromMiss } from '../../infra/trace/miss-trace.js';
import { startOtlpReceiver } from '../../infra/trace/otlp-receiver.js';
import { startTracedSystem } from '../../infra/trace/system.js';

const repository = fileURLToPath(new URL('../../../', import.meta.url));
const photo = await readFile(join(repository, 'node_modules/@vladmandic/face-api/demo/sample1.jpg'));
const receiver = await startOtlpReceiver();
const simulated = { models: ['coco'], baseMs: 20, perImageMs: 1, maxBatch: 4 };
const system = await startTracedSystem({
  repository,
  otlpUrl: receiver.url,
  env: { ...process.env, SAMPAN_SIMULATED_DEVICE: JSON.stringify(simulated) },
  say: () => undefined,
});
after(async () => {
  // In this order: a process waits for its receiver when it ends.
  await system.stop();
  await receiver.close();
});

const callerTrace = '4bf92f3577b34da6a3ce929d0e0e4736';
const callerSpan = '00f067aa0ba902b7';
const arrivalMs = 15_000;

/** Sends a picture that nobody sent before: what follows a JPEG's end is not part of the picture, but of its digest. */
async function predict(number: number, traceparent?: string) {
  const response = await fetch(`${system.url}/v1/models/coco/predict`, {
    method: 'POST',
    headers: { 'content-type': 'image/jpeg', ...(traceparent === undefined ? {} : { traceparent }) },
    body: Buffer.concat([photo, Buffer.from([number])]),
  });
  await response.arrayBuffer();
  assert.equal(response.status, 200);
  const [, traceId = '', , flags = ''] = response.headers.get('traceresponse')?.split('-') ?? [];
  return { traceId, flags, cache: response.headers.get('x-cache') };
}

async function untilWhole(traceId: string) {
  const spans = await receiver.waitFor((all) => missingFromMiss(all, traceId).length === 0, arrivalMs);
  return spans.filter((span) => span.traceId === traceId);
}

test('each of eight misses at once is one whole trace, and each batch links those it ran', async () => {
  const answers = await Promise.all(Array.from({ length: 8 }, (_, number) => predict(number)));
  assert.equal(new Set(answers.map((answer) => answer.traceId)).size, 8);
  for (const { traceId } of answers) assert.equal((await untilWhole(traceId)).length, 9);
  const batches = receiver.spans().filter((span) => span.name === 'batch');
  const sizes = batches.map((batch) => batch.attributes['messaging.batch.message_count']);
  assert.deepEqual(
    batches.map((batch) => batch.links.length),
    sizes,
  );
  assert.equal(batches.flatMap((batch) => batch.links).length, 8);
});

test("a caller's sampled trace is continued from edge to consumer", async () => {
  const { traceId, flags } = await predict(20, `00-${callerTrace}-${callerSpan}-01`);
  assert.deepEqual([traceId, flags], [callerTrace, '01']);
  const spans = await untilWhole(callerTrace);
  assert.equal(spans.find((span) => span.kind === 'server')?.parentSpanId, callerSpan);
});

test('an unsampled request is answered alike and exports nothing on either side', async () => {
  const unsampled = '1'.repeat(32);
  const { traceId, flags } = await predict(30, `00-${unsampled}-${callerSpan}-00`);
  assert.deepEqual([traceId, flags], [unsampled, '00']);
  // Spans leave a process in order: when those of a later request are here, earlier ones would be.
  await untilWhole((await predict(31)).traceId);
  assert.ok(!receiver.spans().some((span) => span.traceId === unsampled));
});

test('a hit is traced at the edge alone', async () => {
  await predict(40);
  let answer = await predict(40);
  // The answer is cached after it was sent.
  for (const limit = Date.now() + arrivalMs; answer.cache !== 'hit' && Date.now() < limit;) answer = await predict(40);
  assert.equal(answer.cache, 'hit');
  const spans = await receiver.waitFor(
    (all) => all.some((span) => span.traceId === answer.traceId && span.kind === 'server'),
    arrivalMs,
  );
  const names = spans.filter((span) => span.traceId === answer.traceId).map((span) => span.name);
  assert.deepEqual(names.sort(), ['POST /v1/models/:model/predict', 'cache lookup', 'digest']);
});
