import { picture } from '../../pictures.js';
import type { Bench, BenchOptions, Measured } from '../bench.js';
import { shippedSettings, startWithAnswer } from '../http/answered-image.js';
import { httpColumns, measured, requestsOf, warmUp, type HttpSide } from '../http/http-side.js';
import { startGenerator, type Generator } from '../http/start-generator.js';
import { interleaved, ratios } from '../rounds.js';
import { tracingOnePercent, withSurroundings, type Surroundings } from '../surroundings.js';

const [ours, rival, observed, honoAlone, nodeHttp] = [
  ...(['edge', 'Hono, one GET', 'the same, observed', 'Hono alone', 'node:http'] as const),
];
/** So that a round of any side takes some seconds. */
const requests = { [ours]: 40_000, [rival]: 60_000, [observed]: 40_000, [honoAlone]: 120_000, [nodeHttp]: 160_000 };
const callers = 32;

export const lookup: Bench = {
  name: 'lookup',
  about:
    'GET of an answer by MD5 and SHA-256 from the cache, through the shipped edge; beside it a Hono route that does one GET of Redis, that route with what people add to know what it does, a route without Redis, and node:http.',
  run: (options) =>
    withSurroundings(async (here) => {
      const generator = startGenerator();
      try {
        return await compare(here, generator, options);
      } finally {
        await generator.stop();
      }
    }),
};

async function compare(here: Surroundings, generator: Generator, options: BenchOptions): Promise<Measured> {
  const { edge, stream, cache, lookupPath, answer } = await startWithAnswer(here, picture('lookup'));
  const side = (name: keyof typeof requests, server: typeof edge, redis: readonly number[]): HttpSide => {
    const count = options.quick ? requests[name] / 20 : requests[name];
    const pace = { kind: 'closed', callers, requests: count } as const;
    return { name, server, redis, load: { paths: [lookupPath], pace }, generator };
  };
  const sides = [
    side(ours, edge, [stream.pid, cache.pid]),
    side(rival, await here.start('test/bench/lookup/one-get.js', {}, [cache.url]), [cache.pid]),
    side(
      observed,
      await here.start('test/bench/lookup/observed-get.js', tracingOnePercent(here.otlpUrl), [cache.url]),
      [cache.pid],
    ),
    side(honoAlone, await here.start('test/bench/lookup/hono-alone.js', {}, [answer]), []),
    side(nodeHttp, await here.start('test/bench/lookup/node-http.js', {}, [answer]), []),
  ];
  for (const one of sides) await warmUp(one, options);
  const rounds = await interleaved(sides.map(measured), { ...options, warmUps: 0 });
  return {
    rounds,
    columns: [...httpColumns],
    goals: [
      {
        promise: 'CPU per lookup at the edge at most 1.5 × that of a bare route with one GET',
        perRound: ratios(rounds, 'server', ours, rival),
        bound: { atMost: 1.5 },
      },
    ],
    charts: [{ name: 'cpu', title: 'A lookup: CPU µs of the server per request', key: 'server' }],
    settings: { ...{ callers, answerBytes: answer.length }, ...requestsOf(sides), ...shippedSettings },
    remarks: [
      `with Redis, the edge takes ${timesRange(ratios(rounds, 'sum', ours, rival))} of the bare route`,
      `beside the route that is observed too, the edge takes ${timesRange(ratios(rounds, 'server', ours, observed))}`,
      'the edge also checks model, parameters and digests, compares the SHA-256, makes an entity tag, gives an id and a trace, counts, times, bounds the time of the GET, and writes a line of its log; the bare routes do none of it, the observed one has id, span, metrics, log line and bound',
    ],
  };
}

function timesRange(values: readonly number[]): string {
  return `${Math.min(...values).toFixed(2)} to ${Math.max(...values).toFixed(2)} times the CPU`;
}
