import { nextBatch, type BatchDecision } from './batcher.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Ready } from './delivery.js';
import { executeBatch, type Executed, type Outcome } from './executor.js';
import { dropTasks, letReadyGo } from './held.js';
import { readyQueues, type Holding } from './holding.js';
import { lookAgain } from './look-again.js';
import { residentBytes } from './resident-memory.js';
import { faultOf } from './fault.js';
import type { Model } from './model/model.js';
import { withinRunLimit } from './run-limit.js';
import { inferenceEnded } from './run-account.js';
import { settleHeld } from './settle-held.js';
import { decideSolo } from './solo.js';
import { endSpan, startBatchSpan } from './telemetry.js';

type Run = Extract<BatchDecision, { run: true }>;

/** Full batches that may wait for Redis while the device goes on. */
const mostUnsettledBatches = 4;

/**
 * Keeps the device busy while there is work: form a batch, run it, settle it while the next one runs.
 * @throws why the device is lost
 */
export async function runDevice(deps: ConsumerDeps, state: ConsumerState): Promise<void> {
  while (!state.retrying.signal.aborted) {
    const canaryMs = await runCanaries(deps, state);
    const decision = nextBatch([...state.holdings.values()].flatMap(readyQueues), deps.now());
    const holding = decision.run ? state.holdings.get(decision.model) : undefined;
    if (decision.run && holding) {
      const settled = settleHeld(deps, state, holding, await runBatch(deps, state, holding, decision));
      if (holding.ended.length >= mostUnsettledBatches * holding.limit.max) await settled;
    } else if (state.intakeEnded && !decision.run && decision.lookAgainMs === undefined) {
      return;
    } else {
      await state.work.wait(sooner(decision.run ? undefined : decision.lookAgainMs, canaryMs));
    }
  }
}

async function runBatch(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  decision: Run,
): Promise<readonly Outcome[]> {
  const taken = (decision.solo ? holding.solos : holding.ready).splice(0, decision.count);
  holding.running = taken.length;
  try {
    const { wanted, ended, lost } = await lookAgain(deps, state, taken, (task) => task.readyAt - task.decodeMs);
    void settleHeld(deps, state, holding, ended);
    dropTasks(deps, state, holding, lost);
    const batch = decision.solo ? await allowedSolo(deps, state, holding, wanted) : wanted;
    return batch.length > 0 ? await inferBatch(deps, state, holding, decision, batch) : [];
  } finally {
    holding.running = 0;
    holding.roomChanged.notify();
  }
}

/** The claimed task, where it may still run; else it is ended or dropped here. */
async function allowedSolo(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  wanted: readonly Ready[],
): Promise<readonly Ready[]> {
  const [task] = wanted;
  if (!task) return [];
  const decision = await decideSolo(deps, state, task);
  if (decision.how === 'ended') void settleHeld(deps, state, holding, [decision.outcome]);
  if (decision.how === 'lost') dropTasks(deps, state, holding, [task]);
  return decision.how === 'run' ? wanted : [];
}

/** @throws why the device is lost, after what had ended before is settled */
async function inferBatch(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  decision: Run,
  batch: readonly Ready[],
): Promise<readonly Outcome[]> {
  const executed = await traced(deps, holding, decision, batch);
  inferenceEnded(deps, holding, decision, batch, executed);
  if (executed.lost !== undefined) {
    await settleHeld(deps, state, holding, executed.outcomes);
    throw executed.lost;
  }
  const succeeded = executed.outcomes.some(({ reason }) => reason === 'succeeded');
  if (holding.health.batchEnded(succeeded, deps.now())) {
    deps.log.warn({ err: executed.error, model: decision.model }, 'batches fail one after the other; reading stops');
  }
  return executed.outcomes;
}

/** Runs the batch as a span of its own, beside those of its members. */
async function traced(
  deps: ConsumerDeps,
  holding: Holding,
  { model, closed }: Run,
  batch: readonly Ready[],
): Promise<Executed> {
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
  const executed = await executeBatch(holding.model, batch, { now: deps.now, memory: () => residentBytes(freshForMs) });
  spans.forEach((span) => endSpan(span, executed.error));
  endSpan(batchSpan);
  return executed;
}

function sooner(one: number | undefined, other: number | undefined): number | undefined {
  return one === undefined || other === undefined ? (one ?? other) : Math.min(one, other);
}

/** @throws why the device is lost, if the canary shows that */
async function canaryError(model: Model): Promise<unknown> {
  try {
    await withinRunLimit(model, 1, () => model.canary());
    return undefined;
  } catch (error) {
    if (faultOf(error) === 'device') throw error;
    return error ?? new Error('the canary failed');
  }
}

/** Tries out sick models whose time has come; answers in how many milliseconds the next one is due. */
async function runCanaries(deps: ConsumerDeps, state: ConsumerState): Promise<number | undefined> {
  let nextMs: number | undefined;
  for (const holding of state.holdings.values()) {
    const { health, model } = holding;
    if (health.canaryAt === undefined || state.intakeEnded) continue;
    if (health.canaryAt <= deps.now()) {
      const error = await canaryError(model);
      health.canaryEnded(error === undefined, deps.now());
      deps.log.warn({ err: error, model: model.manifest.name, passed: error === undefined }, 'canary inference');
      if (error !== undefined) await letReadyGo(deps, state, holding);
      holding.roomChanged.notify();
    }
    const dueAt = holding.health.canaryAt;
    if (dueAt !== undefined) nextMs = sooner(nextMs, Math.max(0, dueAt - deps.now()));
  }
  return nextMs;
}
