import type { Meter } from '@opentelemetry/api';

/** Every instrument of the edge in one table. Units stand in the names; labels are bounded. */
export function createEdgeMetrics(meter: Meter) {
  return {
    /** endpoint (route pattern), status, cache (hit | miss | joined | none) */
    apiLatency: meter.createHistogram('api_latency_seconds', {
      description: 'Time from the request to its answer.',
      advice: {
        explicitBucketBoundaries: [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60],
      },
    }),
    /** model (of the catalogue), found (hit | miss | unavailable) */
    cacheLookups: tally(meter, 'cache_lookups', 'Cache lookups by what they found.', ['model', 'found']),
    /** model, how (admitted | joined | shed) */
    enqueued: tally(meter, 'tasks_enqueued', 'Tasks by what became of them at admission.', ['model', 'how']),
    limitedLocally: meter.createCounter('limited_locally', {
      description: 'Requests whose limits this edge counted by itself, since Redis did not answer.',
    }),
    /** model */
    tasksLost: meter.createCounter('tasks_lost', { description: 'Tasks that were lost before they had a result.' }),
  };
}

interface Tally<Label extends string> {
  add(count: number, labels: Readonly<Record<Label, string>>): void;
}

/**
 * A counter that adds up by itself and tells the SDK when metrics are read: the SDK's own counter makes a key of all
 * labels each time, which for one was a twentieth of what a lookup costs.
 */
function tally<Label extends string>(
  meter: Meter,
  name: string,
  description: string,
  [first, second]: readonly [Label, Label],
): Tally<Label> {
  const sums = new Map<string, { readonly labels: Readonly<Record<Label, string>>; sum: number }>();
  meter.createObservableCounter(name, { description }).addCallback((result) => {
    for (const { labels, sum } of sums.values()) result.observe(sum, labels);
  });
  return {
    add: (count, labels) => {
      const key = `${labels[first]} ${labels[second]}`;
      const known = sums.get(key);
      if (known) known.sum += count;
      else sums.set(key, { labels, sum: count });
    },
  };
}

export type EdgeMetrics = ReturnType<typeof createEdgeMetrics>;
