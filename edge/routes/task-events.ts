import type { EdgeDeps } from '../deps.js';
import type { TaskView } from '../openapi/answer-schemas.js';
import type { Handle } from '../request.js';
import { respondStream } from '../respond.js';
import { hasEnded, taskView } from '../task-view.js';
import { caller } from './tasks.js';

/** How often a task's place in the queue is looked at; its end is told at once. */
const lookEveryMs = 1000;
/** Proxies close connections that say nothing for a minute. */
const longestSilenceMs = 15_000;

/** `GET /v1/tasks/:id/events`: server-sent events, `state` at every change until the task has ended. */
export function taskEvents(deps: EdgeDeps): Handle {
  return async (c) => {
    const { id, tenant } = await caller(deps, c);
    const { signal } = c.req.raw;
    const first = taskView(id, await deps.submissions.look(id, tenant), deps.models.tasksPerSecond);
    const next = async () =>
      taskView(id, await deps.submissions.lookWithin(id, tenant, lookEveryMs, signal), deps.models.tasksPerSecond);
    return respondStream(c, 'text/event-stream', events(deps, first, next, signal));
  };
}

async function* events(
  deps: EdgeDeps,
  first: TaskView,
  next: () => Promise<TaskView>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  let told = '';
  let toldAt = 0;
  let view: TaskView | undefined = first;
  while (view) {
    const data = JSON.stringify(view);
    const now = deps.clock.now();
    if (data !== told) {
      yield `event: state\ndata: ${data}\n\n`;
      [told, toldAt] = [data, now];
    } else if (now - toldAt > longestSilenceMs) {
      yield ': still there\n\n';
      toldAt = now;
    }
    if (hasEnded(view) || signal.aborted) return;
    // Where the stream cannot be asked the events end, and who follows them comes again by itself.
    view = await next().catch(() => undefined);
  }
}
