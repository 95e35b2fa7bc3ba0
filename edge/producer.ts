import { enqueue, type AdmissionLimits, type Enqueued, type Enqueueing } from '../contracts/scripts/enqueue.js';
import { shareOf, type ShareLimits } from './admission.js';
import type { StreamClient } from '../contracts/scripts/scripts.js';

export interface Produced extends Enqueueing {
  /** Whether it counts towards its tenant's share: its caller does not wait for it alone. */
  readonly inShare?: boolean;
  /** Whether it comes again by itself where there is no room. */
  readonly comesAgain?: boolean;
}

/** Sends tasks to their streams. */
export interface Producer {
  /** @throws where the stream cannot be reached or refuses; sending again is safe */
  enqueue(task: Produced): Promise<Enqueued>;
}

export interface ProducerDeps {
  readonly client: StreamClient;
  readonly edge: string;
  readonly limits: AdmissionLimits;
  readonly share: ShareLimits;
  /** Tasks per second that the live consumers of a model report together. */
  readonly tasksPerSecond: (model: string) => number;
  /** Calls back when the present turn of the event loop is over, without a delay. */
  readonly nextTurn: (callback: () => void) => void;
}

/** A task that has not gone out yet. */
interface Gathered {
  readonly task: Produced;
  resolve(enqueued: Enqueued): void;
  reject(error: unknown): void;
}

/** Bounds of one transaction: Redis answers nobody else while it runs. */
const mostTasks = 128;
const mostBytes = 4 * 1024 * 1024;

/** What is sent within one turn of the event loop travels together, by model and lane and whether it counts towards shares. */
export function createProducer({ client, edge, limits, share, tasksPerSecond, nextTurn }: ProducerDeps): Producer {
  let gathered: Gathered[] = [];
  const flush = () => {
    const sending = gathered;
    gathered = [];
    for (const group of groups(sending)) void send(group);
  };
  const send = async (group: readonly Gathered[]) => {
    const [first] = group;
    if (!first) return;
    const { spec, inShare = false, comesAgain = false } = first.task;
    const { model, lane } = spec;
    const rate = tasksPerSecond(model);
    const shared = { share: inShare ? shareOf(rate, share) : undefined, comeAgain: comesAgain };
    const to = { model, lane, edge, limits, tasksPerSecond: rate, ...shared };
    try {
      const tasks = group.map((one) => one.task);
      const enqueued = await enqueue(client, to, tasks);
      enqueued.forEach((each, i) => group[i]?.resolve(each));
    } catch (error) {
      for (const one of group) one.reject(error);
    }
  };
  return {
    enqueue: (task) =>
      new Promise((resolve, reject) => {
        if (gathered.length === 0) nextTurn(flush);
        gathered.push({ task, resolve, reject });
      }),
  };
}

/** Splits what was gathered by what one call has in common, and then by the bounds of one transaction. */
function groups(gathered: readonly Gathered[]): readonly (readonly Gathered[])[] {
  const done: Gathered[][] = [];
  const open = new Map<string, { members: Gathered[]; bytes: number }>();
  for (const one of gathered) {
    const { spec, inShare = false, comesAgain = false } = one.task;
    const key = `${spec.model} ${spec.lane}${inShare ? ' in share' : ''}${comesAgain ? ' comes again' : ''}`;
    const bytes = one.task.image.length;
    const group = open.get(key);
    if (group && group.members.length < mostTasks && group.bytes + bytes <= mostBytes) {
      group.members.push(one);
      group.bytes += bytes;
    } else {
      const members = [one];
      open.set(key, { members, bytes });
      done.push(members);
    }
  }
  return done;
}
