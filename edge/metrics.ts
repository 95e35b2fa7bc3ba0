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
    cacheLookups: meter.createCounter('cache_lookups', { description: 'Cache lookups by what they found.' }),
    /** model, how (admitted | joined | shed) */
    enqueued: meter.createCounter('tasks_enqueued', { description: 'Tasks by what became of them at admission.' }),
    /** model */
    tasksLost: meter.createCounter('tasks_lost', { description: 'Tasks that were lost before they had a result.' }),
  };
}

export type EdgeMetrics = ReturnType<typeof createEdgeMetrics>;
