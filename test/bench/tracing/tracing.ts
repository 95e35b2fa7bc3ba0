import type { Bench, BenchOptions, Goal, Measured, Round } from '../bench.js';
import { withParties, type StartParty } from '../crossing/parties.js';
import { startSampan, type CrossingSide } from '../crossing/sides.js';
import { crossingColumns, imageBytes, measureStretch, warmUp } from '../crossing/turn.js';
import { interleaved, ratios } from '../rounds.js';
import { tracingOnePercent, withSurroundings, type Surroundings } from '../surroundings.js';

const callers = 64;
const [off, onePercent, all] = ['off', '1 %', '100 %'] as const;

/** What recording and exporting spans costs the edge and the consumer. */
export const tracing: Bench = {
  name: 'tracing',
  about:
    'The crossing of 20 kB tasks without HTTP and inference, with traces not exported at all, with 1 % of them ' +
    '(as shipped where an endpoint is set), and with all of them recorded and exported over OTLP.',
  run: (options) => withSurroundings((here) => withParties((startParty) => measure(here, startParty, options))),
};

async function measure(here: Surroundings, startParty: StartParty, options: BenchOptions): Promise<Measured> {
  const { rounds, quick, say } = options;
  const sides: CrossingSide[] = [];
  for (const [name, env] of tracingOf(here.otlpUrl))
    sides.push(await startSampan(here, startParty, { name, cache: false, tracing: env }));
  const warmUpTasks = quick ? 500 : 20_000;
  await warmUp(sides, { turns: quick ? 1 : 2, tasks: warmUpTasks, say });
  const seconds = quick ? 0.5 : 4;
  const turns = sides.map((side) => ({
    name: side.name,
    measure: () => measureStretch(side, { callers, until: { seconds } }),
  }));
  const measured = await interleaved(turns, { rounds, warmUps: 0, say });
  return {
    ...{ rounds: measured, columns: [sumColumn, ...crossingColumns], goals: goalsOf(measured), charts, remarks },
    settings: { secondsPerTurn: seconds, warmUpTasks, callers, imageBytes, cache: 'off' },
  };
}

/** Without an endpoint nothing is exported. */
const tracingOf = (otlpUrl: string): readonly (readonly [string, Record<string, string>])[] => [
  [off, {}],
  [onePercent, tracingOnePercent(otlpUrl)],
  [all, { OTEL_EXPORTER_OTLP_ENDPOINT: otlpUrl, OTEL_TRACES_SAMPLER: 'parentbased_always_on' }],
];

const sumColumn = { key: 'processMicros', label: 'edge and consumer CPU µs per task' };

const charts: Measured['charts'] = [
  { name: 'cpu', title: 'CPU µs per task of edge and consumer, by traces recorded', key: 'processMicros' },
];

function goalsOf(rounds: readonly Round[]): Goal[] {
  return [
    {
      promise: '1 % of traces at most 1.05 × the CPU per task of edge and consumer without',
      perRound: ratios(rounds, 'processMicros', onePercent, off),
      bound: { atMost: 1.05 },
    },
  ];
}

const remarks = [
  'A side is an edge, a consumer and a Redis of its own; logs and metrics are on in all. The receiver of the spans throws them away, and its CPU is not counted.',
  'There is no inference: with a real model the same spans are a far smaller part.',
];
