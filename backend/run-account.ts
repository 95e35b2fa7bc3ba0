import type { BatchDecision } from './batcher.js';
import type { ConsumerDeps } from './consumer.js';
import type { Ready } from './delivery.js';
import type { Executed } from './executor.js';
import { faultOf } from './fault.js';
import type { Holding } from './holding.js';

/** Notes what a batch took and what it tells about the device. */
export function inferenceEnded(
  deps: ConsumerDeps,
  holding: Holding,
  { model, closed }: Extract<BatchDecision, { run: true }>,
  batch: readonly Ready[],
  { outcomes, inferMs, error, fits }: Executed,
): void {
  holding.lastInferMs = inferMs;
  holding.ran += outcomes.length;
  deps.metrics.inferSeconds.record(inferMs / 1000, { model });
  deps.metrics.batchSize.record(batch.length, { model, closed });
  if (error === undefined) {
    holding.ceiling.ran(batch.length);
    return;
  }
  const fault = faultOf(error);
  deps.metrics.failedRuns.add(1, { model, fault });
  deps.log.warn({ err: error, model, fault, batch: batch.length, fits }, 'a run failed');
  if (fits !== undefined) holding.ceiling.lower(fits);
}
