import type { Redis } from 'ioredis';
import { Failure } from '../contracts/failure.js';
import { partitionKeys } from '../contracts/keys.js';
import type { Lane } from '../contracts/task.js';
import { acceptEntry } from './accept.js';
import { splitByBytes } from './batcher.js';
import type { ConsumerDeps, ConsumerState } from './consumer.js';
import { createDecoder, type Decoder } from './decoder.js';
import type { Fetched, Task } from './delivery.js';
import { failedOutcome } from './executor.js';
import { fetchImages } from './fetch.js';
import { dropTasks } from './held.js';
import { room, type Holding } from './holding.js';
import { lookAgain } from './look-again.js';
import { readNew, type RawEntry } from './reader.js';
import { untilRedisAnswers } from './retry.js';
import { settleHeld } from './settle-held.js';
import { createTakeover, type Takeover } from './takeover.js';

/** Claimed tasks that are held at a time: they run one by one, and each may take the others along. */
const mostClaimed = 4;

/** Lanes that are read. */
const lanes: readonly Lane[] = ['normal'];

/**
 * Takes a model's tasks in until told to stop: claim what others let lie, else read what there is room for; fetch the
 * images, decode. Decoding goes on while the device runs and while the next entries are read. Resolves when the last task
 * taken in is ready or failed.
 */
export async function takeIn(
  deps: ConsumerDeps,
  state: ConsumerState,
  holding: Holding,
  stop: AbortSignal,
): Promise<void> {
  const { name } = holding.model.manifest;
  const lanesByStream = new Map(lanes.map((lane) => [partitionKeys(name).tasks(lane), lane]));
  const streams = [...lanesByStream.keys()];
  const decoder = createDecoder(deps, state, holding);
  const takeover = createTakeover(deps, state, holding, streams);
  const intake = { deps, state, holding, decoder, lanesByStream };
  const blocking = await deps.connectBlocking(name);
  try {
    while (!stop.aborted) {
      const count = room(holding);
      if (count === 0 || state.paused !== undefined || holding.health.sick) await holding.roomChanged.wait();
      else if (await takeClaimed(intake, takeover, count))
        await holding.roomChanged.wait(untilNextClaim(intake, takeover));
      else await takeNew(intake, { blocking, streams, count, block: takeover.dueInMs(), stop });
    }
  } catch (error) {
    if (!stop.aborted) throw error;
  } finally {
    holding.readingSince = undefined;
    blocking.disconnect();
    await decoder.idle();
  }
}

/** Takes over what others let lie; answers whether claimed tasks are held, beside which nothing new is read. */
async function takeClaimed(intake: Intake, takeover: Takeover, count: number): Promise<boolean> {
  const { deps, holding } = intake;
  const most = Math.min(count, mostClaimed - holding.claimed);
  const askedAt = deps.now();
  if (most > 0) await takeEntries(intake, await takeover.claim(most), { claimed: true, askedAt });
  return holding.claimed > 0;
}

/** While no more may be claimed only the end of a task changes anything. */
function untilNextClaim({ holding }: Intake, takeover: Takeover): number | undefined {
  return holding.claimed < mostClaimed ? takeover.dueInMs() : undefined;
}

interface Read {
  readonly blocking: Redis;
  readonly streams: readonly string[];
  readonly count: number;
  /** Milliseconds. */
  readonly block: number;
  readonly stop: AbortSignal;
}

async function takeNew(intake: Intake, { blocking, streams, count, block, stop }: Read): Promise<void> {
  const { deps, state, holding } = intake;
  holding.readingSince ??= deps.now();
  let askedAt = deps.now();
  const entries = await untilRedisAnswers('read', { ...state.retrying, signal: stop }, () => {
    askedAt = deps.now();
    return readNew(blocking, deps.consumer, streams, count, block);
  });
  holding.readingSince = undefined;
  if (entries.length < count) holding.ranDry = true;
  state.lastReadAt = deps.redisClock.now();
  await takeEntries(intake, entries, { claimed: false, askedAt });
}

/** How entries came here. */
interface Receipt {
  readonly claimed: boolean;
  /** When they were asked for, milliseconds, monotonic: their leases began then at the earliest. */
  readonly askedAt: number;
}

interface Intake {
  readonly deps: ConsumerDeps;
  readonly state: ConsumerState;
  readonly holding: Holding;
  readonly decoder: Decoder;
  readonly lanesByStream: ReadonlyMap<string, Lane>;
}

/** Fetches and begins to decode what was taken, in groups that fit the byte budget. */
async function takeEntries(intake: Intake, entries: readonly RawEntry[], receipt: Receipt): Promise<void> {
  const { deps, state, holding, decoder, lanesByStream } = intake;
  const takenAt = deps.now();
  const accepted = entries.flatMap((entry) =>
    acceptOne(intake, lanesByStream.get(entry.stream) ?? 'normal', entry, receipt),
  );
  // What was just read is fresh; what was claimed has a past.
  const { wanted, ended, lost } = await lookAgain(deps, state, accepted, () => (receipt.claimed ? -Infinity : takenAt));
  holding.preparing -= accepted.length - wanted.length;
  void settleHeld(deps, state, holding, ended);
  dropTasks(deps, state, holding, lost);
  for (const group of splitByBytes(wanted, (task) => task.delivery.bytes, deps.batchBytes)) {
    await decoder.roomFor(group);
    for (const fetched of await fetchGroup(intake, group)) decoder.decode(fetched);
  }
}

/** Begins to hold an entry; one that is held already was delivered twice, and one that cannot be run ends here. */
function acceptOne(
  { deps, state, holding }: Intake,
  lane: Lane,
  entry: RawEntry,
  { claimed, askedAt }: Receipt,
): readonly Task[] {
  const lease = state.leases.take(entry.stream, entry.entryId, askedAt);
  if (!lease) return [];
  if (claimed) holding.claimed++;
  const accepted = acceptEntry(deps, holding.model, { lane, lease, claimed }, entry);
  if (accepted.ok) {
    holding.preparing++;
    return [accepted.task];
  }
  if (accepted.outcome) {
    void settleHeld(deps, state, holding, [accepted.outcome]);
  } else {
    state.leases.end(lease);
    if (claimed) holding.claimed--;
  }
  return [];
}

async function fetchGroup({ deps, state, holding }: Intake, group: readonly Task[]): Promise<readonly Fetched[]> {
  const { name } = holding.model.manifest;
  const deliveries = group.map((task) => task.delivery);
  const images = await untilRedisAnswers('fetch', state.retrying, () => fetchImages(deps.client, name, deliveries));
  return group.flatMap((task, i) => {
    const image = images[i];
    const { delivery, spec, deadline, trace } = task;
    if (image) return { delivery, spec, deadline, trace, image };
    holding.preparing--;
    const gone = new Failure('task_lost', 'the image is no longer there');
    void settleHeld(deps, state, holding, [failedOutcome(task, gone, 'task_unreadable')]);
    return [];
  });
}
