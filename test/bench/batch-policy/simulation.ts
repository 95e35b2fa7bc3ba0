import { seededRandom } from '../../random.js';

/** A device whose run of n images takes `baseMs + n · perImageMs`. */
export interface DeviceCost {
  readonly baseMs: number;
  readonly perImageMs: number;
  readonly maxBatch: number;
}

/** What a policy sees while the device is free and something waits. */
export interface Waiting {
  readonly ready: number;
  /** When the one that has waited longest came, milliseconds. */
  readonly oldestReadyAt: number;
}

/** Run so many now, or look again after so many milliseconds, or when another one comes. */
export type PolicyDecision =
  { readonly run: true; readonly count: number } | { readonly run: false; readonly lookAgainMs: number | undefined };

export type Policy = (waiting: Waiting, now: number, device: DeviceCost) => PolicyDecision;

export interface Simulation {
  readonly device: DeviceCost;
  readonly policy: Policy;
  /** When each task comes, milliseconds, ascending. */
  readonly arrivals: readonly number[];
  /** Milliseconds that each may take. */
  readonly deadlineMs: number;
}

/** What became of all that came: every arrival is in one of the four. */
export interface Simulated {
  /** Milliseconds from coming to being answered, of those answered in time, in the order of their answers. */
  readonly latencies: readonly number[];
  /** Refused at admission. */
  readonly shed: number;
  /** Dropped when their batch formed. */
  readonly expired: number;
  /** Answered when nobody waited any more. */
  readonly late: number;
  readonly batches: number;
  readonly ran: number;
  readonly busyMs: number;
  /** When the last batch ended. */
  readonly endedAt: number;
}

/** Tasks per second of full batches. */
export function capacityOf(device: DeviceCost): number {
  return (device.maxBatch * 1000) / runMs(device, device.maxBatch);
}

/**
 * When tasks come that do not know of each other, `perSecond` on average. Times are multiples of 2^-10 ms, so that sums
 * of them are exact and a window ends when it is over.
 */
export function poissonArrivals(count: number, perSecond: number, seed: number): number[] {
  const random = seededRandom(seed);
  let at = 0;
  return Array.from({ length: count }, () => {
    at += (-Math.log(1 - random.int(2 ** 24) / 2 ** 24) * 1000) / perSecond;
    return Math.round(at * 1024) / 1024;
  });
}

/** Of the time until its deadline a task may spend so much waiting for those before it, as contracts/scripts/enqueue.lua. */
const mostWaiting = 0.8;

/** Runs one free-standing device in virtual time, until all that came has left. */
export function simulate({ device, policy, arrivals, deadlineMs }: Simulation): Simulated {
  const queue = admissionQueue(arrivals, deadlineMs, capacityOf(device));
  const latencies: number[] = [];
  const account = { expired: 0, late: 0, batches: 0, ran: 0, busyMs: 0, endedAt: 0 };
  let now = 0;
  for (;;) {
    queue.admitUntil(now, 0);
    const decision = queue.ready > 0 ? policy(queue, now, device) : { run: false as const, lookAgainMs: undefined };
    if (!decision.run) {
      now = Math.min(queue.nextArrival, now + (decision.lookAgainMs ?? Infinity));
      if (now === Infinity) return { ...account, latencies, shed: queue.shed };
      continue;
    }
    const taken = queue.take(decision.count);
    const batch = taken.filter((cameAt) => cameAt + deadlineMs > now);
    account.expired += taken.length - batch.length;
    if (batch.length === 0) continue;
    const endsAt = now + runMs(device, batch.length);
    queue.admitUntil(endsAt, batch.length);
    for (const cameAt of batch) {
      if (endsAt - cameAt <= deadlineMs) latencies.push(endsAt - cameAt);
      else account.late++;
    }
    account.batches++;
    account.ran += batch.length;
    account.busyMs += endsAt - now;
    account.endedAt = now = endsAt;
  }
}

const runMs = ({ baseMs, perImageMs }: DeviceCost, count: number) => baseMs + perImageMs * count;

/** Those that wait, oldest first. As in the product, whoever would be waiting too long is not admitted. */
function admissionQueue(arrivals: readonly number[], deadlineMs: number, perSecond: number) {
  const waiting: number[] = [];
  let [first, next, shed] = [0, 0, 0];
  return {
    get ready() {
      return waiting.length - first;
    },
    get oldestReadyAt() {
      return waiting[first] ?? 0;
    },
    get nextArrival() {
      return arrivals[next] ?? Infinity;
    },
    get shed() {
      return shed;
    },
    /** @param running how many are on the device meanwhile: they are still admitted */
    admitUntil(until: number, running: number) {
      for (; next < arrivals.length; next++) {
        const at = arrivals[next] ?? Infinity;
        if (at > until) return;
        const before = waiting.length - first + running;
        if ((before * 1000) / perSecond > mostWaiting * deadlineMs) shed++;
        else waiting.push(at);
      }
    },
    take(count: number): readonly number[] {
      const from = first;
      first = Math.min(waiting.length, first + count);
      return waiting.slice(from, first);
    },
  };
}
