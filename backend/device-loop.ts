import { Failure } from '../contracts/failure.js';
import { nextBatch, type BatchDecision } from './batcher.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Ready } from './delivery.js';
import { executeBatch, failedOutcome, type Outcome } from './executor.js';
import { fetchDeadline } from './fetch.js';
import { readyQueue, type Holding } from './holding.js';
import { residentBytes } from './resident-memory.js';
import { untilRedisAnswers } from './retry.js';
import { settleHeld } from './settle-held.js';
import { endSpan, startBatchSpan } from './telemetry.js';

type Run = Extract<BatchDecision, { run: true }>;

/** Full batches that may wait for Redis while the device goes on. */
const mostUnsettledBatches = 4;

/** Keeps the device busy while there is work: form a batch, run it, settle it while the next one runs. */
export async function runDevice(deps: ConsumerDeps, state: ConsumerState): Promise<void> {
  while (!state.retrying.signal.aborted) {
    const decision = nextBatch([...state.holdings.values()].map(readyQueue), deps.now());
    const holding = decision.run ? state.holdings.get(decision.model) : undefined;
    if (decision.run && holding) {
      const settled = settleHeld(deps, state, holding, await runBatch(deps, state, holding, decision));
      if (holding.ended.length >= mostUnsettledBatches * holding.limit.max) await settled;
    } else if (state.intakeEnded && !decision.run && decision.lookAgainMs === undefined) {
      return;
    } else {
      await state.work.wait(decision.run ? undefined : decision.lookAgainMs);
    }
  }
}

async function runBatch(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  decision: Run,
): Promise<readonly Outcome[]> {
  const taken = holding.ready.splice(0, decision.count);
  holding.running = taken.length;
  try {
    const { batch, expired } = await splitExpired(deps, state, taken);
    void settleHeld(deps, state, holding, expired);
    return batch.length > 0 ? await inferBatch(deps, holding, decision, batch) : [];
  } finally {
    holding.running = 0;
    holding.roomChanged.notify();
  }
}

async function inferBatch(
  deps: ConsumerDeps,
  holding: Holding,
  { model, closed }: Run,
  batch: readonly Ready[],
): Promise<readonly Outcome[]> {
  const { version } = holding.model.manifest;
  const about = { model, version, device: holding.model.device, size: batch.length, closed };
  const batchSpan = startBatchSpan(
    deps.tracer,
    batch.map((task) => task.trace),
    about,
  );
  const spans = batch.map((task) => task.trace.child('infer', undefined, batchSpan));
  // Beside a run on a real device asking for the memory costs nothing.
  const freshForMs = holding.lastInferMs > 5 ? 0 : undefined;

  const executed = await executeBatch(holding.model, batch, deps.now, () => residentBytes(freshForMs));

  spans.forEach((span) => endSpan(span, executed.error));
  endSpan(batchSpan);
  deps.metrics.inferSeconds.record(executed.inferMs / 1000, { model });
  deps.metrics.batchSize.record(batch.length, { model, closed });
  holding.lastInferMs = executed.inferMs;
  return executed.outcomes;
}

interface Split {
  readonly batch: readonly Ready[];
  readonly expired: readonly Outcome[];
}

/** Nobody waits for a task past its deadline; it must not cost the device anything. */
async function splitExpired(deps: ConsumerDeps, state: ConsumerState, tasks: readonly Ready[]): Promise<Split> {
  const now = deps.redisClock.now();
  const late = tasks.filter((task) => task.deadline <= now);
  if (late.length === 0) return { batch: tasks, expired: [] };
  // Requests that joined meanwhile may have later deadlines.
  const deadlines = await untilRedisAnswers('deadline', state.retrying, () =>
    Promise.all(late.map(({ spec, delivery }) => fetchDeadline(deps.client, spec.model, delivery.taskId))),
  ).catch((): undefined[] => []);
  const expired = new Set(late.filter((_, i) => (deadlines[i] ?? 0) <= now));
  const failure = new Failure('deadline_exceeded', 'the deadline passed before the device was free');
  return {
    batch: tasks.filter((task) => !expired.has(task)),
    expired: [...expired].map((task) => failedOutcome(task, failure, 'deadline_exceeded')),
  };
}
