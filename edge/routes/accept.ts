import { canonicalParams } from '../../contracts/params.js';
import type { ModelManifest } from '../../contracts/model.js';
import { Failure } from '../../contracts/failure.js';
import type { TaskSpec } from '../../contracts/task.js';
import type { Order } from '../crossing.js';
import type { EdgeDeps } from '../deps.js';
import type { TaskView } from '../openapi/answer-schemas.js';
import type { EdgeContext } from '../request.js';
import { respondJson } from '../respond.js';
import type { Accepting } from '../submissions.js';
import { acceptedView, taskView } from '../task-view.js';

export const allowedIdempotencyKey = /^[\x21-\x7e]{1,255}$/;

/** A request whose caller comes back for the result. */
export interface Opened extends Accepting {
  readonly tenant: string;
  /** Whether it was accepted before, under the same Idempotency-Key. */
  readonly isKnown: boolean;
}

/**
 * The id of a request that is to be accepted, by its Idempotency-Key where it has one.
 * @throws Failure invalid_header | idempotency_mismatch | stream_unavailable
 */
export async function openSubmission(
  deps: EdgeDeps,
  c: EdgeContext,
  { model, tenant, sha256, params }: TaskSpec,
  { task: kind }: ModelManifest,
): Promise<Opened> {
  const key = c.req.header('idempotency-key');
  if (key !== undefined && !allowedIdempotencyKey.test(key)) {
    throw new Failure('invalid_header', 'idempotency-key must have 1 to 255 visible characters of ASCII, no spaces');
  }
  const id = await deps.submissions.idFor(model, tenant, key, `${canonicalParams(params)} ${sha256}`);
  return { id, tenant, kind, key, isKnown: key !== undefined && (await wasAccepted(deps, id, tenant)) };
}

/** A key that was taken by a request that was never accepted (its edge died) stands for this one. */
async function wasAccepted(deps: EdgeDeps, id: string, tenant: string): Promise<boolean> {
  try {
    await deps.submissions.look(id, tenant);
    return true;
  } catch (error) {
    if (error instanceof Failure && error.code === 'task_not_found') return false;
    throw error;
  }
}

/** Enqueues a request, and tells where its caller finds the result. @throws Failure overloaded | stream_unavailable */
export async function accept(deps: EdgeDeps, c: EdgeContext, order: Order, opened: Opened): Promise<Response> {
  const taken = await deps.submissions.accept(order, opened);
  c.get('request').cache = taken.how === 'joined' ? 'joined' : 'miss';
  return accepted(c, acceptedView(opened.id, taken, deps.models.tasksPerSecond));
}

/** The same for a request that was accepted before. @throws Failure task_not_found | stream_unavailable */
export async function answerAccepted(deps: EdgeDeps, c: EdgeContext, { id, tenant }: Opened): Promise<Response> {
  return accepted(c, taskView(id, await deps.submissions.look(id, tenant), deps.models.tasksPerSecond));
}

function accepted(c: EdgeContext, view: TaskView): Response {
  return respondJson(c, 202, view, {
    location: `/v1/tasks/${view.id}`,
    'preference-applied': 'respond-async',
    'cache-control': 'no-store',
  });
}
