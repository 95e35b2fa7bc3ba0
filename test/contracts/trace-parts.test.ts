import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { KeptSpan } from '../../contracts/kept-span.js';
import { partNames, partsOf, type TraceParts } from '../../contracts/trace-parts.js';
import { baselineOf, leastKnown, verdictOn, verdictText } from '../../contracts/trace-verdict.js';
import { keptSpan, requestSpan, spanIdOf, traceIdOf } from '../kept-spans.js';
import { seededRandom } from '../random.js';

interface Sketch {
  readonly trace?: number;
  /** By how much the backend's clock is ahead. */
  readonly aheadMs?: number;
  readonly body?: number;
  readonly queue?: number;
  readonly decode?: number;
  readonly batchWait?: number;
  readonly device?: number;
  readonly reply?: number;
}

/** The nine spans of a miss whose parts are given; what is not takes a millisecond or two. */
function miss({ trace = 1, aheadMs = 0, ...ms }: Sketch = {}): readonly KeptSpan[] {
  const { body = 2, queue = 3, decode = 30, batchWait = 5, device = 50, reply = 1 } = ms;
  const [digest, cache, admission, fetch, settle, rest] = [1, 2, 2, 1, 4, 1];
  const process = fetch + decode + batchWait + device + settle;
  const wait = queue + process + reply;
  const start = 100_000;
  const enqueued = start + body + digest + cache;
  const span = (
    number: number,
    parent: number,
    name: string,
    startMs: number,
    took: number,
    more: Partial<KeptSpan> = {},
  ) => keptSpan({ trace, span: number, parent, startMs, ms: took, more: { name, kind: 'internal', ...more } });
  const there = enqueued + admission + queue + aheadMs;
  const attributes = { 'sampan.queue_ms': queue, 'sampan.model': 'coco' };
  return [
    requestSpan({ trace, startMs: start, ms: body + digest + cache + admission + wait + rest }),
    span(2, 1, 'digest', start + body, digest),
    span(3, 1, 'cache lookup', start + body + digest, cache),
    span(4, 1, 'enqueue', enqueued, admission),
    span(5, 1, 'wait', enqueued + admission, wait),
    span(6, 4, 'process', there, process, { kind: 'consumer', attributes }),
    span(7, 6, 'decode', there + fetch, decode),
    span(8, 6, 'infer', there + fetch + decode + batchWait, device),
    span(9, 6, 'settle', there + fetch + decode + batchWait + device, settle),
  ];
}

const take = (sketch: Sketch = {}): TraceParts => {
  const taken = partsOf(miss(sketch), traceIdOf(sketch.trace ?? 1));
  assert.ok(taken);
  return taken;
};
const sumOf = ({ parts }: TraceParts) => partNames.reduce((sum, name) => sum + parts[name], 0);

test('the parts of a miss are told, and add up to the whole, though clocks differ by minutes', () => {
  for (const aheadMs of [0, 240_000, -180_000, 1]) {
    const taken = take({ aheadMs });
    assert.deepEqual(taken, {
      totalMs: 102,
      model: 'coco',
      parts: {
        ...{ body: 2, digest: 1, cache: 2, admission: 2, queue: 3, fetch: 1, decode: 30, 'batch wait': 5, device: 50 },
        ...{ settle: 4, reply: 1, 'joined task': 0, unexplained: 1 },
      },
    });
    assert.equal(sumOf(taken), 102);
  }
});

test('whatever is missing or odd, no part is negative, and they add up', () => {
  const random = seededRandom(11);
  for (let round = 0; round < 500; round++) {
    const spans = miss({ aheadMs: random.int(1000) - 500, queue: random.int(100), reply: random.int(5) })
      .filter((span) => span.parentSpanId === '' || random.int(4) > 0)
      .map((span) =>
        random.int(6) > 0 ? span : { ...span, startNs: String(BigInt(span.startNs) + BigInt(random.int(9_000_000))) },
      );
    const taken = partsOf(random.shuffled(spans), traceIdOf(1));
    assert.ok(taken);
    for (const name of partNames) assert.ok(taken.parts[name] >= 0, name);
    if (taken.totalMs >= 0) assert.ok(Math.abs(sumOf(taken) - taken.totalMs) < 1e-6);
  }
  assert.equal(partsOf(miss().slice(1), traceIdOf(1)), undefined, 'without its request it is none');
});

test('a request that joined waited for a task, and one that no consumer told of stood in the queue', () => {
  const alone = miss().slice(0, 5);
  assert.equal(partsOf(alone, traceIdOf(1))?.parts.queue, 94);
  const joined = alone.map((span) =>
    span.name === 'enqueue' ? { ...span, links: [{ traceId: traceIdOf(2), spanId: spanIdOf(4) }] } : span,
  );
  const { parts } = partsOf(joined, traceIdOf(1)) ?? {};
  assert.deepEqual([parts?.['joined task'], parts?.queue], [94, 0]);
});

const usual = () =>
  Array.from({ length: 40 }, (_, i) => take({ device: 45 + (i % 11), queue: i % 5, batchWait: i % 7 }));
const faults = {
  queue: 'queue',
  decode: 'decode',
  batchWait: 'batch wait',
  device: 'device',
  reply: 'reply',
  body: 'body',
} as const;

for (const [key, part] of Object.entries(faults)) {
  test(`the verdict names ${part} where that is what was slow, in two sizes, beside a milder second fault`, () => {
    const baseline = baselineOf(usual());
    for (const ms of [300, 3000]) {
      for (const second of [{}, key === 'queue' ? { decode: 100 } : { queue: 80 }]) {
        const verdict = verdictOn(take({ ...second, [key]: ms }), baseline);
        assert.equal(verdict.main.part, part);
        assert.equal(verdict.unusual[0]?.part, part);
        assert.equal(verdict.unusual.length, 1 + Object.keys(second).length * Number(ms === 300));
        assert.match(verdictText(verdict), new RegExp(`^\\d+ % ${part}; ${part} took ${String(ms)}\\.0 ms, where`));
      }
    }
  });
}

test('of a healthy run nothing is unusual, and of too few nothing is said', () => {
  const requests = usual();
  const baseline = baselineOf(requests);
  for (const request of requests) assert.deepEqual(verdictOn(request, baseline).unusual, []);
  assert.match(
    verdictText(verdictOn(take(), baseline)),
    /^49 % device \(50\.0 ms\); nothing unusual beside 40 others$/,
  );
  const few = baselineOf(requests.slice(0, leastKnown - 1));
  const verdict = verdictOn(take({ queue: 5000 }), few);
  assert.deepEqual(verdict.unusual, []);
  assert.match(verdictText(verdict), /^98 % queue .*too few others/);
});
