import type { Redis } from 'ioredis';
import { decodeEntry, taskIdIn } from '../contracts/entry.js';
import { Failure } from '../contracts/failure.js';
import { partitionKeys } from '../contracts/keys.js';
import { discardEntry } from '../contracts/scripts/scripts.js';
import type { Lane } from '../contracts/task.js';
import { splitByBytes } from './batcher.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Delivery, Fetched } from './delivery.js';
import { failedOutcome } from './executor.js';
import { fetchBodies } from './fetch.js';
import { room, type Holding } from './holding.js';
import { ensureGroup, readNew, type RawEntry } from './reader.js';
import { untilRedisAnswers } from './retry.js';
import { settleHeld } from './settle-held.js';
import { createSignal } from './signal.js';
import { endSpan, startTaskTrace } from './telemetry.js';

/** Lanes that are read. */
const lanes: readonly Lane[] = ['normal'];

/**
 * Takes a model's tasks in until told to stop: read what there is room for, fetch the bodies, decode. Decoding goes on
 * while the device runs and while the next entries are read. Resolves when the last task taken in is ready or failed.
 */
export async function takeIn(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  stop: AbortSignal,
): Promise<void> {
  const intake = createIntake(deps, state, holding);
  const blocking = await deps.connectBlocking(holding.model.manifest.name);
  const retrying = { ...state.retrying, signal: stop };
  try {
    for (const stream of intake.lanesByStream.keys()) {
      await untilRedisAnswers('group', retrying, () => ensureGroup(deps.client, stream));
    }
    while (!stop.aborted) {
      const count = room(holding);
      if (count === 0) await holding.roomChanged.wait();
      else await intake.accept(await readEntries(deps, state, intake, blocking, count, retrying));
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    blocking.disconnect();
    await intake.decoded();
  }
}

async function readEntries(
  deps: ConsumerDeps,
  state: ConsumerState,
  intake: Intake,
  blocking: Redis,
  count: number,
  retrying: ConsumerState['retrying'],
): Promise<readonly RawEntry[]> {
  const streams = [...intake.lanesByStream.keys()];
  const entries = await untilRedisAnswers('read', retrying, () => readNew(blocking, deps.consumer, streams, count));
  state.lastReadAt = deps.redisClock.now();
  return entries;
}

interface Intake {
  readonly lanesByStream: ReadonlyMap<string, Lane>;
  /** Takes entries over; resolves when their bodies are fetched. */
  accept(entries: readonly RawEntry[]): Promise<void>;
  /** Resolves when no decoding is under way. */
  decoded(): Promise<void>;
}

function createIntake(deps: ConsumerDeps, state: ConsumerState, holding: Holding): Intake {
  const { name } = holding.model.manifest;
  const lanesByStream = new Map(lanes.map((lane) => [partitionKeys(name).tasks(lane), lane]));
  const decodings = new Set<Promise<void>>();
  const bytesFreed = createSignal();
  let bytesFetched = 0;

  const decodeLater = (fetched: Fetched) => {
    bytesFetched += fetched.delivery.bytes;
    const decoding = decodeTask(deps, state, holding, fetched).finally(() => {
      bytesFetched -= fetched.delivery.bytes;
      decodings.delete(decoding);
      bytesFreed.notify();
    });
    decodings.add(decoding);
  };
  return {
    lanesByStream,
    accept: async (entries) => {
      const deliveries: Delivery[] = [];
      for (const entry of entries) {
        const lane = lanesByStream.get(entry.stream) ?? 'normal';
        const delivery = await toDelivery(deps, holding, lane, entry);
        if (delivery) deliveries.push(delivery);
      }
      state.held += deliveries.length;
      holding.preparing += deliveries.length;
      for (const group of splitByBytes(deliveries, deps.batchBytes)) {
        const bytes = group.reduce((sum, delivery) => sum + delivery.bytes, 0);
        while (bytesFetched > 0 && bytesFetched + bytes > deps.batchBytes) await bytesFreed.wait();
        for (const fetched of await fetchGroup(deps, state, holding, group)) decodeLater(fetched);
      }
    },
    decoded: async () => {
      await Promise.all(decodings);
    },
  };
}

/** An entry as a delivery; one that cannot be read is ended here, so that it never comes back. */
async function toDelivery(
  deps: ConsumerDeps,
  holding: Holding,
  lane: Lane,
  { stream, entryId, fields }: RawEntry,
): Promise<Delivery | undefined> {
  const entry = decodeEntry(fields);
  const queueMs = Math.max(0, deps.redisClock.now() - Number(entryId.split('-')[0]));
  const base = { stream, entryId, lane, queueMs, model: holding.model };
  if (entry.ok) return { ...base, ...entry.value };
  deps.log.error({ err: entry.failure, stream, entryId }, 'an entry cannot be read');
  const taskId = taskIdIn(fields);
  if (taskId === undefined) {
    await discardEntry(deps.client, stream, entryId).catch(() => undefined);
    return undefined;
  }
  // Its body is still fetched: the version of the reader may be at fault for the entry alone.
  return { ...base, taskId, bytes: 1, traceparent: '', unreadable: entry.failure };
}

async function fetchGroup(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  group: readonly Delivery[],
): Promise<readonly Fetched[]> {
  const bodies = await untilRedisAnswers('fetch', state.retrying, () => fetchBodies(deps.client, group));
  return group.flatMap((delivery, i) => {
    const body = bodies[i];
    const trace = startTaskTrace(deps.tracer, delivery, deps.consumer);
    const refusal = refusalOf(delivery, body);
    if (body?.ok && !refusal) return { delivery, trace, ...body.value };
    const error = refusal ?? new Failure('task_unreadable', 'the task has left');
    endEarly(deps, state, holding, { delivery, trace, spec: body?.ok ? body.value.spec : undefined }, error);
    return [];
  });
}

function refusalOf(delivery: Delivery, body: Awaited<ReturnType<typeof fetchBodies>>[number]): Failure | undefined {
  if (delivery.unreadable) return delivery.unreadable;
  if (!body) return undefined;
  if (!body.ok) return body.failure;
  const { version } = delivery.model.manifest;
  if (body.value.spec.version === version) return undefined;
  return new Failure('model_version_gone', `the task asks for version ${body.value.spec.version}, here is ${version}`);
}

async function decodeTask(deps: ConsumerDeps, state: ConsumerState, holding: Holding, fetched: Fetched): Promise<void> {
  const { delivery, spec, deadline, trace, image } = fetched;
  const startedAt = deps.now();
  const span = trace.child('decode');
  try {
    const decoded = await holding.model.decode(image);
    const readyAt = deps.now();
    const decodeMs = readyAt - startedAt;
    endSpan(span);
    deps.metrics.decodeSeconds.record(decodeMs / 1000, { model: spec.model });
    holding.preparing--;
    holding.ready.push({ delivery, spec, deadline, trace, decoded, decodeMs, readyAt });
    state.work.notify();
  } catch (error) {
    endSpan(span, error);
    const decodeMs = deps.now() - startedAt;
    endEarly(deps, state, holding, { delivery, trace, spec, decodeMs }, error);
  }
}

/** Settles a task that never reaches the device. */
function endEarly(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  task: Pick<Fetched, 'delivery' | 'trace'> & {
    readonly spec: Fetched['spec'] | undefined;
    readonly decodeMs?: number;
  },
  error: unknown,
): void {
  holding.preparing--;
  holding.roomChanged.notify();
  void settleHeld(deps, state, [failedOutcome(task, error, 'image_unreadable')]);
}
