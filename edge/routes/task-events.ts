import type { Seen } from '../../contracts/scripts/submission.js';
import type { EdgeDeps } from '../deps.js';
import type { TaskView } from '../openapi/answer-schemas.js';
import type { Handle } from '../request.js';
import { respond, respondStream } from '../respond.js';
import { hasEnded, taskView } from '../task-view.js';
import { caller } from './tasks.js';

/** How often a task's place in the queue is looked at; its end is told at once. */
const lookEveryMs = 1000;
/** Proxies close connections that say nothing for a minute. */
const longestSilenceMs = 15_000;
/** After that they end, and who follows them comes again by itself. */
const longestMs = 600_000;

/** Of the event that tells a task's end. */
const lastId = 'end';

/** `GET /v1/tasks/:id/events`: server-sent events, `state` at every change until the task has ended. */
export function taskEvents(deps: EdgeDeps): Handle {
  return async (c) => {
    const { id, tenant } = await caller(deps, c);
    // Browsers come again after the end, too; this tells them not to.
    if (c.req.header('last-event-id') === lastId) return respond(c, 204, null, {});
    const end = deps.followers.begin(tenant);
    try {
      const { signal } = c.req.raw;
      const show = (seen: Seen) => taskView(id, seen, deps.models.tasksPerSecond);
      const first = show(await deps.submissions.look(id, tenant));
      const next = async () => show(await deps.submissions.lookWithin(id, tenant, lookEveryMs, signal));
      const response = respondStream(c, 'text/event-stream', events(deps, first, next, signal));
      void c.get('request').streamed?.then(end);
      return response;
    } catch (error) {
      end();
      throw error;
    }
  };
}

async function* events(
  { clock, stopping }: EdgeDeps,
  first: TaskView,
  next: () => Promise<TaskView>,
  signal: AbortSignal,
): AsyncGenerator<string> {
  const until = clock.now() + longestMs;
  let told = '';
  let toldAt = 0;
  let view: TaskView | undefined = first;
  while (view) {
    const data = JSON.stringify(view);
    const now = clock.now();
    if (data !== told) {
      yield `event: state\n${hasEnded(view) ? `id: ${lastId}\n` : ''}data: ${data}\n\n`;
      [told, toldAt] = [data, now];
    } else if (now - toldAt > longestSilenceMs) {
      yield ': still there\n\n';
      toldAt = now;
    }
    if (hasEnded(view) || signal.aborted || stopping.aborted || now > until) return;
    // Where the stream cannot be asked the events end, too.
    view = await next().catch(() => undefined);
  }
}
