import { Failure } from '../contracts/failure.js';
import { partitionKeys } from '../contracts/keys.js';
import { encodeResult, failedResult } from '../contracts/result.js';
import type { ConsumerDeps } from './consumer.js';
import type { Model } from './model/model.js';
import { endTasks } from './settle.js';

/**
 * Ends the tasks of entries that somebody deleted by hand while they were pending: nobody would ever run them, and their
 * account would stand for ever. Which tasks they were only the tasks in flight can tell; the case is rare enough to look
 * at them all.
 */
export async function endDeleted(
  deps: ConsumerDeps,
  model: Model,
  stream: string,
  entryIds: readonly string[],
): Promise<void> {
  const { name } = model.manifest;
  const keys = partitionKeys(name);
  const taskIds = Object.values(await deps.client.hgetall(keys.work));
  const ledgers = await Promise.all(taskIds.map((taskId) => deps.client.hget(keys.task(taskId), 'ledger')));
  const deleted = new Set(entryIds);
  const ended = taskIds.filter((_, i) => deleted.has(ledgers[i]?.split(' ', 1)[0] ?? ''));
  deps.log.error({ stream, entryIds, taskIds: ended }, 'entries were deleted while they were pending');
  const failure = new Failure('task_lost', 'the entry of the task was deleted');
  const result = encodeResult(failedResult(failure, 'task_lost', ''));
  await endTasks(
    deps.settle,
    { model: name, lane: 'normal' },
    ended.map((taskId) => ({ taskId, reason: 'failed', result })),
  );
}
