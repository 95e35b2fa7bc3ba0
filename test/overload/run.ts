import { fork } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import type { Call, Load } from './caller.js';

/** Tasks per second of the simulated device, and how it comes to that: batches of 25 take a quarter of a second. */
export const capacity = 100;
export const device = { baseMs: 50, perImageMs: 8, maxBatch: 25 };

/** Runs callers in a process of their own, so that the edge is not disturbed by them. */
export async function runCallers(load: Load): Promise<readonly Call[]> {
  const child = fork(fileURLToPath(new URL('./caller.js', import.meta.url)));
  child.send(load);
  const [calls] = (await once(child, 'message')) as [readonly Call[]];
  await once(child, 'exit');
  return calls;
}

/** Milliseconds until the device is as busy as it will be. */
const rampUpMs = 1000;

/** How an overload went. */
export interface OverloadAccount {
  readonly seconds: number;
  readonly sent: number;
  readonly succeeded: number;
  readonly shed: number;
  /** Admitted and not answered in time. */
  readonly late: number;
  /** Any other status, with how often. */
  readonly otherwise: Readonly<Record<string, number>>;
  /** Answers with a prediction per second, from when the device was busy until the load was over. */
  readonly goodput: number;
}

export function accountOf(calls: readonly Call[], load: Load): OverloadAccount {
  const seconds = load.requests / load.perSecond;
  const count = (status: number) => calls.filter((call) => call.status === status).length;
  const steady = calls.filter(({ answeredAt }) => answeredAt > rampUpMs && answeredAt <= seconds * 1000);
  const inTime = steady.filter(({ status }) => status === 200).length;
  const others = new Set(calls.map(({ status }) => status).filter((status) => ![200, 503, 504].includes(status)));
  const [succeeded, shed, late] = [count(200), count(503), count(504)];
  return {
    ...{ seconds, sent: calls.length, succeeded, shed, late },
    otherwise: Object.fromEntries([...others].map((status) => [status, count(status)])),
    goodput: inTime / (seconds - rampUpMs / 1000),
  };
}

/** Of those who were shed and came back when they were told to, how many were admitted then. */
export function returnsOf(calls: readonly Call[]): { readonly returned: number; readonly admitted: number } {
  const returns = calls.filter(({ visit }) => visit > 0);
  return { returned: returns.length, admitted: returns.filter(({ status }) => status !== 503).length };
}
