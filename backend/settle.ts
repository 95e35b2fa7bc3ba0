import type { Redis } from 'ioredis';
import { answerBytes } from '../contracts/answer.js';
import { cacheSeconds, encodeCached } from '../contracts/cached.js';
import { cacheKey, replyChannel } from '../contracts/keys.js';
import { canonicalParams } from '../contracts/params.js';
import { encodeReplies, type Reply } from '../contracts/reply.js';
import { encodeResult } from '../contracts/result.js';
import { leaveAll, type LeaveRequest } from '../contracts/scripts/leave.js';
import { workKey } from '../contracts/task.js';
import type { Outcome } from './executor.js';
import type { BackendMetrics } from './metrics.js';

export interface SettleDeps {
  /** Commands of the stream role. */
  readonly client: Redis;
  /** The cache role; undefined where caching is off. */
  readonly cache: Redis | undefined;
  readonly resultSeconds: number;
  readonly cacheSeconds: number;
  readonly metrics: BackendMetrics;
  readonly random: () => number;
}

/** An outcome's end: `left` is false where somebody else had ended the task before. */
export interface Settled {
  readonly outcome: Outcome;
  readonly left: boolean;
}

/**
 * Acts on outcomes, the sole place where tasks of a consumer leave: one pipeline of `leave`, one message to each edge
 * that waits, then the cache. @throws where Redis refused any of
 * them; doing it again is safe, since what has left is found gone
 */
export async function settle(deps: SettleDeps, outcomes: readonly Outcome[]): Promise<readonly Settled[]> {
  const encoded = outcomes.map((outcome) => encodeResult(outcome.result));
  const left = await leaveAll(
    deps.client,
    outcomes.map((outcome, i) => leaveRequest(outcome, encoded[i], deps.resultSeconds)),
  );
  const byEdge = new Map<string, Reply[]>();
  let refused: Error | undefined;
  const settled = outcomes.map((outcome, i): Settled => {
    const end = left[i];
    if (end instanceof Error) refused ??= end;
    const result = encoded[i];
    if (!end || end instanceof Error || end.how !== 'left' || !result) return { outcome, left: false };
    for (const edge of end.edges) {
      const replies = byEdge.get(edge);
      const reply = { id: outcome.delivery.taskId, result };
      if (replies) replies.push(reply);
      else byEdge.set(edge, [reply]);
    }
    return { outcome, left: true };
  });
  await publish(deps.client, byEdge);
  rememberAnswers(deps, settled);
  if (refused) throw refused;
  return settled;
}

function leaveRequest(outcome: Outcome, result: Buffer | undefined, resultSeconds: number): LeaveRequest {
  const { taskId, entryId, lane } = outcome.delivery;
  const request = { taskId, entryId, lane, reason: outcome.reason, keepResultMs: resultSeconds * 1000 };
  return result ? { ...request, result } : request;
}

/** The reply is only the fast way: a waiter that misses it reads the stored result. */
async function publish(client: Redis, byEdge: ReadonlyMap<string, readonly Reply[]>): Promise<void> {
  const sent = [...byEdge].map(([edge, replies]) => client.spublish(replyChannel(edge), encodeReplies(replies)));
  await Promise.allSettled(sent);
}

/** Best effort, and nobody waits for it. */
function rememberAnswers(deps: SettleDeps, settled: readonly Settled[]): void {
  if (deps.cache?.status !== 'ready') return;
  const pipeline = deps.cache.pipeline();
  for (const { outcome, left } of settled) {
    if (left && outcome.spec && outcome.result.outcome === 'succeeded') {
      const { spec, result, delivery } = { spec: outcome.spec, result: outcome.result, delivery: outcome.delivery };
      const { model, version, sha256 } = spec;
      const { predictions, timing } = result;
      const task = delivery.model.manifest.task;
      const answer = answerBytes({ id: delivery.taskId, model, version, task, cache: 'hit', predictions, timing });
      const key = cacheKey(workKey({ ...spec, canonicalParams: canonicalParams(spec.params) }));
      pipeline.set(key, encodeCached(sha256, answer), 'EX', cacheSeconds(deps.cacheSeconds, deps.random));
    }
  }
  if (pipeline.length === 0) return;
  pipeline.exec().then(
    () => deps.metrics.cacheWrites.add(pipeline.length, { outcome: 'written' }),
    () => deps.metrics.cacheWrites.add(pipeline.length, { outcome: 'failed' }),
  );
}
