import { Failure } from '../contracts/failure.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Outcome } from './executor.js';
import { endHeld } from './held.js';
import type { Holding } from './holding.js';
import { isRefusal, untilRedisAnswers } from './retry.js';
import { settle, type Settled } from './settle.js';
import { endSpan } from './telemetry.js';

/**
 * Settles outcomes of held tasks and accounts for them; never rejects. What cannot be settled stays pending. What ends
 * while a model's settling is under way is settled together next: the busier it is, the less each task costs.
 */
export function settleHeld(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  outcomes: readonly Outcome[],
): Promise<void> {
  if (outcomes.length === 0) return Promise.resolve();
  holding.ended.push(...outcomes);
  return (holding.settling ??= settleEnded(deps, state, holding));
}

async function settleEnded(deps: ConsumerDeps, state: ConsumerState, holding: Holding): Promise<void> {
  while (holding.ended.length > 0) await settleAndAccount(deps, state, holding, holding.ended.splice(0));
  holding.settling = undefined;
}

async function settleAndAccount(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  outcomes: readonly Outcome[],
): Promise<void> {
  const startedAt = deps.now();
  const spans = outcomes.map((outcome) => outcome.trace.child('settle'));
  const settled = await settleAll(deps, state, outcomes);
  account(deps, settled);
  for (const { delivery } of outcomes) endHeld(state, holding, delivery);
  spans.forEach((span) => endSpan(span));
  for (const { trace, result } of outcomes) {
    trace.end(result.outcome === 'failed' ? new Failure(result.code, result.detail) : undefined);
  }
  deps.metrics.settleSeconds.record((deps.now() - startedAt) / 1000, { model: holding.model.manifest.name });
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

function account(deps: ConsumerDeps, settled: readonly Settled[]): void {
  const byReason = new Map<string, number>();
  for (const { outcome, left } of settled) {
    const { delivery, reason, result, decodeMs, inferMs, memoryChange } = outcome;
    const { taskId, bytes, queueMs } = delivery;
    if (left) {
      byReason.set(reason, (byReason.get(reason) ?? 0) + 1);
      deps.metrics.queueSeconds.record(queueMs / 1000, { model: delivery.model.manifest.name });
    }
    const ended = left ? reason : 'gone';
    // Every request stands in the edge's access log; here the usual end would cost more than all other accounting.
    const level = ended === 'succeeded' ? 'debug' : 'info';
    if (!deps.log.isLevelEnabled(level)) continue;
    const code = result.outcome === 'failed' ? result.code : undefined;
    deps.log[level]({ taskId, bytes, outcome: ended, code, queueMs, decodeMs, inferMs, memoryChange }, 'task left');
  }
  const manifest = settled[0]?.outcome.delivery.model.manifest;
  if (!manifest) return;
  const { name: model, version } = manifest;
  const dead = byReason.get('dead');
  if (dead !== undefined) deps.metrics.dead.add(dead, { model });
  for (const [outcome, count] of byReason)
    deps.metrics.inferences.add(count, { model, model_version: version, outcome });
}
