import { cancelledExample, eventsExample, expiredExample, succeededExample, waitingExample } from '../examples.js';
import { identifying, type Operation } from '../operation.js';
import { commonParameters } from '../parameters.js';

const codes = [...identifying, 'permission_missing', 'model_not_allowed', 'task_not_found', 'internal'] as const;
const followed = [...codes, 'too_many_at_once'] as const;
const theTask = 'coco.0.019ad4c2-5c1e-7d30-a1b2-4f2f0a8c9e11';

const show: Operation = {
  method: 'get',
  path: '/v1/tasks/{id}',
  id: 'showTask',
  tag: 'Tasks',
  summary: 'What has become of a task',
  description:
    'Of a request that was answered with 202. A task is seen by its tenant alone, and its result is kept until an hour past its deadline.',
  access: 'identified',
  parameters: ['id', 'prefer-wait', ...commonParameters],
  answers: [
    {
      status: 200,
      description: 'The task: while it lasts its place, then its answer or problem.',
      headers: ['cache-control', 'retry-after-until-ended', 'preference-applied-wait'],
      content: [
        {
          ...{ type: 'application/json', schema: 'Task' },
          examples: { waiting: waitingExample, succeeded: succeededExample, expired: expiredExample },
        },
      ],
    },
  ],
  codes: followed,
  curl: [{ label: 'Wait for its end', source: `curl -H 'prefer: wait=10' "$BASE/v1/tasks/${theTask}"` }],
};

const cancel: Operation = {
  method: 'delete',
  path: '/v1/tasks/{id}',
  id: 'cancelTask',
  tag: 'Tasks',
  summary: 'Cancel a task',
  description:
    'The caller waits for it no longer; it is not run unless somebody else waits for the same. What has ended stays as it is.',
  access: 'identified',
  parameters: ['id', ...commonParameters],
  answers: [
    {
      status: 200,
      description: 'The task as it is now.',
      headers: ['cache-control', 'retry-after-until-ended'],
      content: [
        {
          ...{ type: 'application/json', schema: 'Task' },
          examples: { cancelled: cancelledExample, 'ended before': succeededExample },
        },
      ],
    },
  ],
  codes,
  curl: [{ label: 'Cancel', source: `curl -X DELETE "$BASE/v1/tasks/${theTask}"` }],
};

const follow: Operation = {
  method: 'get',
  path: '/v1/tasks/{id}/events',
  id: 'followTask',
  tag: 'Tasks',
  summary: 'Follow a task',
  description:
    'Server-sent events: `state` with the task at every change, until it has ended. Where the stream cannot be asked the events end early; whoever follows them comes again.',
  access: 'identified',
  parameters: ['id', ...commonParameters],
  answers: [
    {
      status: 200,
      description: 'Events, each with the task as it is shown.',
      headers: ['cache-control', 'x-accel-buffering'],
      content: [{ type: 'text/event-stream', schema: 'Events', item: 'Task', examples: { two: eventsExample } }],
    },
    {
      status: 204,
      description: 'The caller knows the end already (`Last-Event-ID: end`), and need not come again.',
      headers: ['cache-control'],
      content: [],
    },
  ],
  codes: followed,
  curl: [{ label: 'Until its end', source: `curl -N "$BASE/v1/tasks/${theTask}/events"` }],
};

export const taskOperations: readonly Operation[] = [show, cancel, follow];
