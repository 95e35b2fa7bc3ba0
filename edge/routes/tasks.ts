import { Failure } from '../../contracts/failure.js';
import { parseTaskId } from '../../contracts/task.js';
import { permit, permitModel } from '../access/authorise.js';
import type { EdgeDeps } from '../deps.js';
import type { TaskView } from '../openapi/answer-schemas.js';
import { preferencesFrom } from '../prefer.js';
import type { EdgeContext, Handle } from '../request.js';
import { respondJson, type Headers } from '../respond.js';
import { hasEnded, taskView } from '../task-view.js';
import { identify } from './identify.js';

/** Seconds that a caller may wait for a task to end. */
const longestWait = 60;

/** `GET /v1/tasks/:id`: what has become of a task; with `Prefer: wait=10` once it has ended, or after ten seconds. */
export function showTask(deps: EdgeDeps): Handle {
  return async (c) => {
    const { id, tenant } = await caller(deps, c);
    const { wait } = preferencesFrom(c.req.header('prefer'));
    if (wait === undefined) return answer(c, await view(deps, id, tenant));
    const end = deps.followers.begin(tenant);
    try {
      const seconds = Math.min(wait, longestWait);
      const seen = await deps.submissions.lookWithin(id, tenant, seconds * 1000, c.req.raw.signal);
      const shown = taskView(id, seen, deps.models.tasksPerSecond);
      return answer(c, shown, { 'preference-applied': `wait=${String(seconds)}` });
    } finally {
      end();
    }
  };
}

/** `DELETE /v1/tasks/:id`: nobody waits for the task any more; what has ended stays as it is. */
export function cancelTask(deps: EdgeDeps): Handle {
  return async (c) => {
    const { id, tenant } = await caller(deps, c);
    await deps.submissions.cancel(id, tenant);
    return answer(c, await view(deps, id, tenant));
  };
}

/** Who asks for which task. @throws Failure of the kinds credentials_… and permission_missing | model_not_allowed; task_not_found */
export async function caller(deps: EdgeDeps, c: EdgeContext): Promise<{ id: string; tenant: string }> {
  const principal = await identify(deps, c);
  permit(principal, 'tasks');
  const id = c.req.param('id') ?? '';
  const parts = parseTaskId(id);
  if (!parts) throw new Failure('task_not_found', 'this is no id of a task');
  permitModel(principal, parts.model);
  if (deps.models.catalogue().has(parts.model)) c.get('request').model = parts.model;
  return { id, tenant: principal.tenant };
}

async function view(deps: EdgeDeps, id: string, tenant: string): Promise<TaskView> {
  return taskView(id, await deps.submissions.look(id, tenant), deps.models.tasksPerSecond);
}

function answer(c: EdgeContext, shown: TaskView, more: Headers = {}): Response {
  const again = hasEnded(shown) ? {} : { 'retry-after': secondsUntil(shown) };
  return respondJson(c, 200, shown, { 'cache-control': 'no-store', ...again, ...more });
}

/** When it makes sense to come back. */
function secondsUntil(shown: TaskView): string {
  const { expectedWaitMs = 1000 } = 'expectedWaitMs' in shown ? shown : {};
  return String(Math.min(longestWait, Math.max(1, Math.ceil(expectedWaitMs / 1000))));
}
