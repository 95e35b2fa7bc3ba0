import type { Buffer } from 'node:buffer';
import { encodeSpec } from '../entry.js';
import { partitionKeys } from '../keys.js';
import { taskFormat, type TaskSpec } from '../task.js';
import { isList, type StreamClient } from './scripts.js';

/** Most tasks and bytes of one model's partition that may be admitted at a time. */
export interface AdmissionLimits {
  readonly maxTasks: number;
  readonly maxBytes: number;
}

export interface EnqueueRequest {
  readonly id: string;
  readonly spec: TaskSpec;
  readonly work: string;
  readonly image: Buffer;
  readonly edge: string;
  /** Milliseconds until the deadline. */
  readonly timeLeftMs: number;
  readonly traceparent: string;
  readonly limits: AdmissionLimits;
}

const shedLimits = ['count', 'bytes'] as const;
export type ShedLimit = (typeof shedLimits)[number];

/** `deadline` is in milliseconds of Redis's clock; `tasks` is how many are admitted now. */
export type Enqueued =
  | { readonly how: 'admitted' | 'joined'; readonly id: string; readonly tasks: number; readonly deadline: number }
  | { readonly how: 'shed'; readonly limit: ShedLimit; readonly tasks: number };

/** Milliseconds that an image outlives its deadline where its task never left. */
const imageGraceMs = 60_000;

/**
 * Joins equal work in flight, else admits or sheds; see enqueue.lua. The image and the script travel together.
 * @throws where Redis refuses either, or answers in a form that is not known
 */
export async function enqueue(client: StreamClient, request: EnqueueRequest): Promise<Enqueued> {
  const { id, spec, work, image, edge, traceparent, limits } = request;
  const keys = partitionKeys(spec.model);
  const timeLeftMs = Math.max(0, Math.ceil(request.timeLeftMs));
  const [, reply] = await Promise.all([
    client.set(keys.image(id), image, 'PX', timeLeftMs + imageGraceMs),
    client.sampanEnqueue(
      ...[keys.tasks(spec.lane), keys.task(id), keys.image(id), keys.work, keys.load, keys.result(id)],
      ...[
        id,
        encodeSpec(spec),
        spec.sha256,
        work,
        spec.tenant,
        edge,
        image.length,
        timeLeftMs,
        traceparent,
        taskFormat,
      ],
      ...[limits.maxTasks, limits.maxBytes, imageGraceMs],
    ),
  ]);
  return readEnqueued(reply);
}

function readEnqueued(reply: unknown): Enqueued {
  const [how, what, tasks, deadline]: readonly unknown[] = isList(reply) ? reply : [];
  if ((how === 'admitted' || how === 'joined') && typeof what === 'string') {
    return { how, id: what, tasks: Number(tasks), deadline: Number(deadline) };
  }
  const limit = shedLimits.find((known) => known === what);
  if (how === 'shed' && limit) return { how, limit, tasks: Number(tasks) };
  throw new Error('the script enqueue answered in a form that is not known');
}
