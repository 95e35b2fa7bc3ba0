import { Failure } from '../contracts/failure.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Outcome } from './executor.js';
import { isRefusal, untilRedisAnswers } from './retry.js';
import { settle, type Settled } from './settle.js';
import { endSpan } from './telemetry.js';

/** Settles outcomes of held tasks and accounts for them; never rejects. What cannot be settled stays pending. */
export function settleHeld(
  deps: ConsumerDeps,
  state: ConsumerState,
  outcomes: readonly Outcome[],
  memoryChange = 0,
): Promise<void> {
  if (outcomes.length === 0) return Promise.resolve();
  const settling = settleAndAccount(deps, state, outcomes, memoryChange).finally(() => state.settling.delete(settling));
  state.settling.add(settling);
  return settling;
}

async function settleAndAccount(
  deps: ConsumerDeps,
  state: ConsumerState,
  outcomes: readonly Outcome[],
  memoryChange: number,
): Promise<void> {
  const startedAt = deps.now();
  const spans = outcomes.map((outcome) => outcome.trace.child('settle'));
  const settled = await settleAll(deps, state, outcomes);
  account(deps, state, settled, memoryChange);
  state.held -= outcomes.length;
  spans.forEach((span) => endSpan(span));
  for (const { trace, result } of outcomes) {
    trace.end(result.outcome === 'failed' ? new Failure(result.code, result.detail) : undefined);
  }
  const model = outcomes[0]?.delivery.model.manifest.name ?? '';
  deps.metrics.settleSeconds.record((deps.now() - startedAt) / 1000, { model });
}

/** Where Redis refuses a batch they are settled one by one, so that one broken task does not keep the others. */
async function settleAll(
  deps: ConsumerDeps,
  state: ConsumerState,
  outcomes: readonly Outcome[],
): Promise<readonly Settled[]> {
  try {
    return await untilRedisAnswers('settle', state.retrying, () => settle(deps.settle, outcomes));
  } catch (error) {
    if (outcomes.length > 1 && isRefusal(error)) {
      return (await Promise.all(outcomes.map((outcome) => settleAll(deps, state, [outcome])))).flat();
    }
    state.unsettled += outcomes.length;
    const taskIds = outcomes.map((outcome) => outcome.delivery.taskId);
    deps.log.error({ err: error, taskIds }, 'tasks could not be settled and stay pending');
    return [];
  }
}

function account(deps: ConsumerDeps, state: ConsumerState, settled: readonly Settled[], memoryChange: number): void {
  const byReason = new Map<string, number>();
  for (const { outcome, left } of settled) {
    const { delivery, reason, result, decodeMs, inferMs } = outcome;
    const { taskId, bytes, queueMs } = delivery;
    if (left) {
      byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
      deps.metrics.queueSeconds.record(queueMs / 1000, { model: delivery.model.manifest.name });
    }
    const ended = left ? reason : 'gone';
    const code = result.outcome === 'failed' ? result.code : undefined;
    deps.log.info({ taskId, bytes, outcome: ended, code, queueMs, decodeMs, inferMs, memoryChange }, 'task left');
  }
  const manifest = settled[0]?.outcome.delivery.model.manifest;
  if (!manifest) return;
  const { name: model, version } = manifest;
  state.settledCount.set(model, (state.settledCount.get(model) ?? 0) + settled.length);
  for (const [outcome, count] of byReason)
    deps.metrics.inferences.add(count, { model, model_version: version, outcome });
}
