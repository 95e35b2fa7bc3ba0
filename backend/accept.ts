import { decodeEntry, taskIdIn } from '../contracts/entry.js';
import { Failure } from '../contracts/failure.js';
import { discardEntry } from '../contracts/scripts/scripts.js';
import type { Lane } from '../contracts/task.js';
import type { ConsumerDeps } from './consumer.js';
import type { Task } from './delivery.js';
import { failedOutcome, type Outcome } from './executor.js';
import type { Lease } from './lease.js';
import type { Model } from './model/model.js';
import type { RawEntry } from './reader.js';
import { startTaskTrace, unsampledTask } from './telemetry.js';

/** An entry as a task; or the outcome of one that cannot be run, absent where there is nobody to tell. */
export type Accepted =
  { readonly ok: true; readonly task: Task } | { readonly ok: false; readonly outcome: Outcome | undefined };

/** How an entry came here. */
export interface Receipt {
  readonly lane: Lane;
  readonly lease: Lease;
  readonly claimed: boolean;
}

/** Reads an entry. Never throws: what cannot be read ends here, so that it does not come back for ever. */
export function acceptEntry(deps: ConsumerDeps, model: Model, receipt: Receipt, entry: RawEntry): Accepted {
  const { stream, entryId, fields } = entry;
  const decoded = decodeEntry(fields);
  const admittedAt = Number.parseInt(entryId, 10);
  const queueMs = Math.max(0, deps.redisClock.now() - admittedAt);
  if (!decoded.ok) return refuse(deps, { ...receipt, stream, entryId, model, queueMs }, fields, decoded.failure);
  const { taskId, spec, timeLeftMs, traceparent } = decoded.value;
  const { lane, lease, claimed } = receipt;
  const { bytes } = spec;
  const delivery = { stream, lane, entryId, lease, claimed, model, taskId, bytes, traceparent, queueMs };
  const trace = startTaskTrace(deps.tracer, delivery, deps.consumer);
  const task = { delivery, spec, deadline: admittedAt + timeLeftMs, trace };
  const here = model.manifest.version;
  if (spec.model !== model.manifest.name) {
    const astray = new Failure(
      'task_unreadable',
      `the task is of model ${spec.model}, the stream of ${model.manifest.name}`,
    );
    return { ok: false, outcome: failedOutcome(task, astray, 'task_unreadable') };
  }
  if (spec.version === here) return { ok: true, task };
  const gone = new Failure('model_version_gone', `the task asks for version ${spec.version}, here is ${here}`);
  return { ok: false, outcome: failedOutcome(task, gone, 'task_unreadable') };
}

type Received = Omit<Task['delivery'], 'taskId' | 'bytes' | 'traceparent'>;

function refuse(deps: ConsumerDeps, received: Received, fields: readonly string[], failure: Failure): Accepted {
  const { stream, entryId } = received;
  deps.log.error({ err: failure, stream, entryId }, 'an entry cannot be read');
  const taskId = taskIdIn(fields);
  if (taskId === undefined) {
    discardEntry(deps.client, stream, entryId).catch((error: unknown) => {
      deps.log.error({ err: error, stream, entryId }, 'an unreadable entry could not be discarded');
    });
    return { ok: false, outcome: undefined };
  }
  const delivery = { ...received, taskId, bytes: 0, traceparent: '' };
  const outcome = failedOutcome({ delivery, spec: undefined, trace: unsampledTask }, failure, 'task_unreadable');
  return { ok: false, outcome };
}
