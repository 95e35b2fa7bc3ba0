import { Failure } from '../contracts/failure.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Outcome } from './executor.js';
import { untilRedisAnswers } from './retry.js';
import { settle, type Settled } from './settle.js';
import { endSpan } from './telemetry.js';

/** Settles outcomes of held tasks and accounts for them; never rejects. What cannot be settled stays pending. */
export async function settleHeld(
  deps: ConsumerDeps,
  state: ConsumerState,
  outcomes: readonly Outcome[],
  memoryChange = 0,
): Promise<void> {
  if (outcomes.length === 0) return;
  const startedAt = deps.now();
  const spans = outcomes.map((outcome) => outcome.trace.child('settle'));
  let failure: unknown;
  try {
    const settled = await untilRedisAnswers('settle', state.retrying, () => settle(deps.settle, outcomes));
    for (const one of settled) account(deps, state, one, memoryChange);
  } catch (error) {
    failure = error;
    state.unsettled += outcomes.length;
    deps.log.error({ err: error, tasks: outcomes.length }, 'tasks could not be settled and stay pending');
  }
  state.held -= outcomes.length;
  spans.forEach((span) => endSpan(span, failure));
  for (const { trace, result } of outcomes) {
    trace.end(result.outcome === 'failed' ? new Failure(result.code, result.detail) : undefined);
  }
  const model = outcomes[0]?.delivery.model.manifest.name ?? '';
  deps.metrics.settleSeconds.record((deps.now() - startedAt) / 1000, { model });
}

function account(deps: ConsumerDeps, state: ConsumerState, { outcome, left }: Settled, memoryChange: number): void {
  const { delivery, reason, result, decodeMs, inferMs } = outcome;
  const { name: model, version } = delivery.model.manifest;
  state.settledCount.set(model, (state.settledCount.get(model) ?? 0) + 1);
  if (left) {
    deps.metrics.inferences.add(1, { model, model_version: version, outcome: reason });
    deps.metrics.queueSeconds.record(delivery.queueMs / 1000, { model });
  }
  deps.log.info(
    {
      ...{ taskId: delivery.taskId, bytes: delivery.bytes, outcome: left ? reason : 'gone', queueMs: delivery.queueMs },
      ...{ decodeMs, inferMs, memoryChange, code: result.outcome === 'failed' ? result.code : undefined },
    },
    'task left',
  );
}
