import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { createLatch } from '../../../backend/model/latch.js';
import { simulatedModel } from '../../../backend/model/simulated-model.js';
import { isFailureCode, failures } from '../../../contracts/failure.js';
import { partitionKeys } from '../../../contracts/keys.js';
import { picture } from '../../pictures.js';
import { testRedis } from '../../redis.js';
import { leftovers, nothingLeft, predict, servedBy, testSystem, until, type Answered } from '../system.js';
import { lives, runningBackend, runningEdge, type RunningPart } from './parts.js';

const long = process.env['SAMPAN_TEST_LONG'] !== undefined;
const system = await testSystem();
const { stream } = system;
/** A server for both roles, which goes away under load. */
const leaving = await testRedis();

const MiB = 2 ** 20;
const residentBytes = ({ process: { child } }: RunningPart): number => {
  const status = readFileSync(`/proc/${String(child.pid)}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) * 1024;
};

function assertRefusal({ status, body, headers }: Answered, codes: readonly string[]): void {
  assert.ok(status === 503 && codes.includes(body.code), JSON.stringify(body));
  assert.equal(body.retryable, true);
  assert.match(headers.get('retry-after') ?? '', /^[1-9]\d*$/);
}

type Phase = 'here' | 'going' | 'away' | 'coming' | 'over';

/** Callers that never rest, each with a picture that nobody sent before, and what they were answered. */
function loadOn(url: string, model: string, bytes: number) {
  const answers: Record<Phase, Answered[]> = { here: [], going: [], away: [], coming: [], over: [] };
  const state: { phase: Phase } = { phase: 'here' };
  let sent = 0;
  const caller = async () => {
    while (state.phase !== 'over') {
      const sentIn = state.phase;
      // A request that is not refused at once would be told another code at its deadline.
      const answer = await predict(url, model, picture(sent++, bytes), { 'x-timeout-ms': '5000' });
      // What was under way when Redis went or came may have met it either way.
      answers[sentIn === state.phase ? sentIn : 'going'].push(answer);
    }
  };
  const callers = Promise.all(Array.from({ length: 32 }, caller));
  const served = (phase: Phase) => answers[phase].filter(({ status }) => status === 200).length;
  const has = (look: () => number, least: number) => until(look, (count) => count >= least, 120_000);
  return {
    answers,
    state,
    servedIn: (phase: Phase, least: number) => has(() => served(phase), least),
    answeredIn: (phase: Phase, least: number) => has(() => answers[phase].length, least),
    callers,
  };
}

test('row 3: while Redis is away under load every request is refused at once by its code, and memory stays flat', async (context) => {
  const env = { REDIS_URL: leaving.url };
  const [backend, edge] = await Promise.all([runningBackend('away', env), runningEdge(env)]);
  const bytes = 200_000;
  const refusals = long ? 20_000 : 1800;
  const { answers, state, servedIn, answeredIn, callers } = loadOn(edge.url, 'away', bytes);
  await servedIn('here', 50);
  state.phase = 'going';
  await leaving.stop();
  await until(
    () => answers.going.at(-1)?.status,
    (status) => status === 503,
  );
  state.phase = 'away';
  // The first third fills pools and heaps, as any other load would.
  await answeredIn('away', refusals / 3);
  const before = residentBytes(edge);
  await answeredIn('away', refusals);
  const grown = (residentBytes(edge) - before) / MiB;
  const refused = (bytes * refusals * 2) / 3 / MiB;
  context.diagnostic(`${grown.toFixed(0)} MiB more after ${refused.toFixed(0)} MiB were refused`);
  state.phase = 'coming';
  await leaving.start();
  await servedIn('coming', 50);
  state.phase = 'over';
  await callers;

  for (const answer of answers.away) assertRefusal(answer, ['stream_unavailable']);
  for (const { status, body } of [...answers.going, ...answers.coming]) {
    const code: unknown = body.code;
    assert.ok(status === 200 || (isFailureCode(code) && failures[code].retryable), JSON.stringify(body));
  }
  assert.ok(grown < refused / 3, `${grown.toFixed(0)} MiB more after ${refused.toFixed(0)} MiB were refused`);
  for (const part of [backend, edge]) assert.ok(lives(part), part.process.output());
});

test('row 20: of a thousand requests that hang up while they queue at most one more batch runs', async () => {
  const latch = createLatch();
  const most = 32;
  const model = simulatedModel({
    latch,
    manifest: { name: 'abandoned', batch: { simulated: { max: most, maxWaitMs: 0 } } },
  });
  await system.backend(servedBy(model));
  const { url } = await system.edge();
  latch.hold();
  const front = predict(url, 'abandoned', picture('front'), { 'x-timeout-ms': '60000' });
  await latch.arrived();
  const going = new AbortController();
  const abandoned = Array.from({ length: 1000 }, async (_, i) => {
    await fetch(`${url}/v1/models/abandoned/predict`, {
      ...{ method: 'POST', body: picture(`abandoned-${i}`), signal: going.signal },
      // Nothing else ends them within this test.
      headers: { 'x-timeout-ms': '60000' },
    });
  });
  const queued = (tasks: number) =>
    until(
      () => stream.hget(partitionKeys('abandoned').load, 'count'),
      (count) => count === String(tasks),
      30_000,
    );
  await queued(1001);
  going.abort();
  for (const { status } of await Promise.allSettled(abandoned)) assert.equal(status, 'rejected');
  // All but the one on the device have left, although nobody has answered them.
  await queued(1);
  latch.release();
  assert.equal((await front).status, 200);
  assert.equal((await predict(url, 'abandoned', picture('after'))).status, 200);
  const [, ...after] = model.journal.runs;
  assert.ok(after.length <= 2, `${after.length - 1} more batches ran: ${after.join()}`);
  assert.ok(model.journal.answered.length <= 2 + most, `${model.journal.answered.length} pictures were inferred`);
  assert.deepEqual(await leftovers(stream, 'abandoned'), nothingLeft);
});

for (const [limit, env] of [
  ['tasks', { SAMPAN_MAX_TASKS: '3' }],
  ['bytes', { SAMPAN_MAX_TASK_BYTES: '100000' }],
] as const) {
  test(`row 21: beyond the limit of ${limit} a request is answered 503 with Retry-After, and below it is served`, async () => {
    const name = `limit-of-${limit}`;
    const latch = createLatch();
    const model = simulatedModel({ latch, manifest: { name } });
    await system.backend(servedBy(model));
    const { url } = await system.edge(env);
    latch.hold();
    // Three fit; of bytes too, since a picture is some hundred bytes longer than asked for.
    const admitted = [1, 2, 3].map((i) => predict(url, name, picture(`in-${i}`, 32_000), { 'x-timeout-ms': '60000' }));
    await until(
      () => stream.hget(partitionKeys(name).load, 'count'),
      (count) => count === '3',
    );
    for (let i = 0; i < 5; i++) assertRefusal(await predict(url, name, picture(`out-${i}`, 32_000)), ['overloaded']);
    latch.release();
    for (const { status } of await Promise.all(admitted)) assert.equal(status, 200);
    assert.equal((await predict(url, name, picture('room again', 32_000))).status, 200);
  });
}
