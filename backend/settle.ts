import type { Redis } from 'ioredis';
import { answerParts } from '../contracts/answer.js';
import { cacheSeconds, encodeCached } from '../contracts/cached.js';
import { cacheKey, replyChannel } from '../contracts/keys.js';
import { canonicalParams } from '../contracts/params.js';
import { encodeReplies, type Reply } from '../contracts/reply.js';
import { encodeResult, type Succeeded } from '../contracts/result.js';
import { leave, type Leaving, type LeavingFrom } from '../contracts/scripts/leave.js';
import { workKey, type TaskSpec } from '../contracts/task.js';
import type { Outcome } from './executor.js';
import type { BackendMetrics } from './metrics.js';

export interface SettleDeps {
  /** Commands of the stream role. */
  readonly client: Redis;
  /** The cache role; undefined where caching is off. */
  readonly cache: Redis | undefined;
  readonly resultSeconds: number;
  /** How long dead letters and their images are kept. */
  readonly deadSeconds: number;
  readonly cacheSeconds: number;
  readonly metrics: BackendMetrics;
  readonly random: () => number;
  /** Milliseconds of Redis's clock. */
  readonly redisNow: () => number;
}

/** An outcome's end: `left` is false where somebody else had ended the task before. */
export interface Settled {
  readonly outcome: Outcome;
  readonly left: boolean;
}

/**
 * Acts on outcomes of one batch, the sole place where tasks of a consumer leave: one `leave`, one message to each edge
 * that waits, then the cache. @throws where Redis refuses; doing it again is safe, since what has left is found gone
 */
export async function settle(deps: SettleDeps, outcomes: readonly Outcome[]): Promise<readonly Settled[]> {
  const [first] = outcomes;
  if (!first) return [];
  const { lane, model } = first.delivery;
  // All outcomes of one call are of one model and lane: a batch never mixes them.
  const lefts = await endTasks(
    deps,
    { model: model.manifest.name, lane },
    outcomes.map(({ delivery: { taskId, entryId }, reason, result, deadLetter }) => {
      return { taskId, entryId, reason, result: encodeResult(result), deadLetter };
    }),
  );
  const settled = outcomes.map((outcome, i) => ({ outcome, left: lefts[i] ?? false }));
  rememberAnswers(deps, settled);
  return settled;
}

/** A task's end, and what its waiters are told, as encodeResult wrote it. */
export type TaskEnd = Leaving & { readonly result: Buffer };

/** Ends tasks of one lane and tells the edges that wait for them; answers for each whether it left now. */
export async function endTasks(
  deps: SettleDeps,
  from: Pick<LeavingFrom, 'model' | 'lane'>,
  tasks: readonly TaskEnd[],
): Promise<readonly boolean[]> {
  if (tasks.length === 0) return [];
  const { resultSeconds, deadSeconds } = deps;
  const kept = { keepResultMs: resultSeconds * 1000, keepDeadMs: deadSeconds * 1000 };
  const ends = await leave(deps.client, { ...from, ...kept }, tasks);
  const byEdge = new Map<string, Reply[]>();
  tasks.forEach(({ taskId, result }, i) => {
    const end = ends[i];
    if (end?.how !== 'left') return;
    for (const edge of end.edges) {
      const replies = byEdge.get(edge);
      if (replies) replies.push({ id: taskId, result });
      else byEdge.set(edge, [{ id: taskId, result }]);
    }
  });
  await publish(deps.client, byEdge);
  return ends.map(({ how }) => how === 'left');
}

/** The reply is only the fast way: a waiter that misses it reads the stored result. */
async function publish(client: Redis, byEdge: ReadonlyMap<string, readonly Reply[]>): Promise<void> {
  const sent = [...byEdge].map(([edge, replies]) => client.spublish(replyChannel(edge), encodeReplies(replies)));
  await Promise.allSettled(sent);
}

/** Best effort, and nobody waits for it. */
function rememberAnswers(deps: SettleDeps, settled: readonly Settled[]): void {
  const { cache, metrics } = deps;
  if (cache?.status !== 'ready') return;
  const writes = settled.flatMap(({ outcome, left }) => {
    const { spec, result } = outcome;
    if (!left || !spec || result.outcome !== 'succeeded') return [];
    const key = cacheKey(workKey(spec, canonicalParams(spec.params)));
    const seconds = cacheSeconds(deps.cacheSeconds, deps.random);
    const expiresAt = Math.floor(deps.redisNow() / 1000) + seconds;
    return [cache.set(key, cachedAnswer(outcome, spec, result, expiresAt), 'EX', seconds)];
  });
  if (writes.length === 0) return;
  void Promise.allSettled(writes).then((ends) => {
    const written = ends.filter(({ status }) => status === 'fulfilled').length;
    if (written > 0) metrics.cacheWrites.add(written, { outcome: 'written' });
    if (written < ends.length) metrics.cacheWrites.add(ends.length - written, { outcome: 'failed' });
  });
}

function cachedAnswer({ delivery }: Outcome, spec: TaskSpec, result: Succeeded, expiresAt: number): Buffer {
  const { model, version, sha256 } = spec;
  const { predictions, timing } = result;
  const { task } = delivery.model.manifest;
  return encodeCached(
    sha256,
    expiresAt,
    answerParts({ id: delivery.taskId, model, version, task, cache: 'hit', predictions, timing }),
  );
}
