import { Failure } from '../contracts/failure.js';
import { partitionKeys } from '../contracts/keys.js';
import type { Lane } from '../contracts/task.js';
import { splitByBytes } from './batcher.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import type { Fetched, Task } from './delivery.js';
import { failedOutcome, type Outcome } from './executor.js';
import { fetchImages } from './fetch.js';
import { room, type Holding } from './holding.js';
import { acceptEntry } from './accept.js';
import { readNew, type RawEntry } from './reader.js';
import { untilRedisAnswers } from './retry.js';
import { settleHeld } from './settle-held.js';
import { createSignal } from './signal.js';
import { endSpan } from './telemetry.js';

/** Lanes that are read. */
const lanes: readonly Lane[] = ['normal'];

/**
 * Takes a model's tasks in until told to stop: read what there is room for, fetch the images, decode. Decoding goes on
 * while the device runs and while the next entries are read. Resolves when the last task taken in is ready or failed.
 */
export async function takeIn(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  stop: AbortSignal,
): Promise<void> {
  const { name } = holding.model.manifest;
  const lanesByStream = new Map(lanes.map((lane) => [partitionKeys(name).tasks(lane), lane]));
  const decoder = createDecoder(deps, state, holding);
  const blocking = await deps.connectBlocking(name);
  const retrying = { ...state.retrying, signal: stop };
  const streams = [...lanesByStream.keys()];
  try {
    while (!stop.aborted) {
      const count = room(holding);
      if (count === 0) {
        await holding.roomChanged.wait();
        continue;
      }
      const entries = await untilRedisAnswers('read', retrying, () => readNew(blocking, deps.consumer, streams, count));
      state.lastReadAt = deps.redisClock.now();
      await takeEntries(deps, state, holding, decoder, lanesByStream, entries);
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    blocking.disconnect();
    await decoder.idle();
  }
}

/** Fetches and begins to decode what was read, in groups that fit the byte budget. */
async function takeEntries(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  decoder: Decoder,
  lanesByStream: ReadonlyMap<string, Lane>,
  entries: readonly RawEntry[],
): Promise<void> {
  state.held += entries.length;
  holding.preparing += entries.length;
  const tasks = entries.flatMap((entry) => {
    const accepted = acceptEntry(deps, holding.model, lanesByStream.get(entry.stream) ?? 'normal', entry);
    if (accepted.ok) return [accepted.task];
    leaveEarly(deps, state, holding, accepted.outcome);
    return [];
  });
  for (const group of splitByBytes(tasks, (task) => task.delivery.bytes, deps.batchBytes)) {
    await decoder.roomFor(group);
    for (const fetched of await fetchGroup(deps, state, holding, group)) decoder.decode(fetched);
  }
}

async function fetchGroup(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  group: readonly Task[],
): Promise<readonly Fetched[]> {
  const { name } = holding.model.manifest;
  const deliveries = group.map((task) => task.delivery);
  const images = await untilRedisAnswers('fetch', state.retrying, () => fetchImages(deps.client, name, deliveries));
  return group.flatMap((task, i) => {
    const image = images[i];
    if (image) return { ...task, image };
    const gone = new Failure('task_lost', 'the image is no longer there');
    leaveEarly(deps, state, holding, failedOutcome(task, gone, 'task_unreadable'));
    return [];
  });
}

interface Decoder {
  /** Resolves when a group's bytes fit beside those that are being decoded. */
  roomFor(group: readonly Task[]): Promise<void>;
  /** Starts decoding; the task becomes ready, or leaves as failed. */
  decode(fetched: Fetched): void;
  /** Resolves when no decoding is under way. */
  idle(): Promise<void>;
}

function createDecoder(deps: ConsumerDeps, state: ConsumerState, holding: Holding): Decoder {
  const underWay = new Set<Promise<void>>();
  const freed = createSignal();
  let bytes = 0;
  return {
    roomFor: async (group) => {
      const wanted = group.reduce((sum, task) => sum + task.delivery.bytes, 0);
      while (bytes > 0 && bytes + wanted > deps.batchBytes) await freed.wait();
    },
    decode: (fetched) => {
      bytes += fetched.delivery.bytes;
      const decoding = decodeTask(deps, state, holding, fetched).finally(() => {
        bytes -= fetched.delivery.bytes;
        underWay.delete(decoding);
        freed.notify();
      });
      underWay.add(decoding);
    },
    idle: async () => {
      await Promise.all(underWay);
    },
  };
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
    leaveEarly(deps, state, holding, failedOutcome({ ...fetched, decodeMs }, error, 'image_unreadable'));
  }
}

/** Settles a task that never reaches the device. */
function leaveEarly(deps: ConsumerDeps, state: ConsumerState, holding: Holding, outcome: Outcome | undefined): void {
  holding.preparing--;
  holding.roomChanged.notify();
  if (outcome) void settleHeld(deps, state, holding, [outcome]);
  else state.held--;
}
