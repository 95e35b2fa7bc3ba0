import { Agent, request } from 'node:http';
import { performance } from 'node:perf_hooks';
import { picture } from '../pictures.js';

/** What this process is told to do: callers who come at a steady rate, and whether they come back when they are told to. */
export interface Load {
  readonly url: string;
  readonly model: string;
  readonly perSecond: number;
  readonly requests: number;
  readonly timeoutMs: number;
  readonly comeBack: boolean;
}

/** One request's own record; times are milliseconds since the first one was due. */
export interface Call {
  readonly caller: number;
  /** 0 for the first, 1 for the first return, … */
  readonly visit: number;
  readonly sentAt: number;
  readonly answeredAt: number;
  readonly status: number;
  readonly retryAfter: number | undefined;
}

const agent = new Agent({ keepAlive: true, maxSockets: 2048 });
const visits = 20;

/** Sends without waiting for answers, as callers who do not know of one another. */
async function run(load: Load): Promise<readonly Call[]> {
  const calls: Call[] = [];
  const startedAt = performance.now();
  const now = () => performance.now() - startedAt;
  const caller = async (number: number) => {
    for (let visit = 0; visit < visits; visit++) {
      const call = await visitOnce(load, number, visit, now);
      calls.push(call);
      if (!load.comeBack || call.status !== 503 || call.retryAfter === undefined) return;
      await new Promise((resolve) => setTimeout(resolve, (call.retryAfter ?? 1) * 1000));
    }
  };
  const callers: Promise<void>[] = [];
  while (callers.length < load.requests) {
    const due = Math.min(load.requests, Math.ceil((now() / 1000) * load.perSecond));
    while (callers.length < due) callers.push(caller(callers.length));
    await new Promise((resolve) => setTimeout(resolve, 2));
  }
  await Promise.all(callers);
  return calls;
}

function visitOnce(load: Load, caller: number, visit: number, now: () => number): Promise<Call> {
  const body = picture(`${load.model} ${caller} ${visit} ${process.pid}`);
  const sentAt = now();
  return new Promise((resolve) => {
    const told = (status: number, retryAfter?: string) => {
      resolve({
        ...{ caller, visit, sentAt, status, answeredAt: now() },
        retryAfter: retryAfter === undefined ? undefined : Number(retryAfter),
      });
    };
    const sent = request(`${load.url}/v1/models/${load.model}/predict`, {
      ...{ agent, method: 'POST' },
      headers: { 'content-type': 'image/jpeg', 'content-length': body.length, 'x-timeout-ms': String(load.timeoutMs) },
    });
    sent.on('response', (response) => {
      response.resume().on('end', () => {
        told(response.statusCode ?? 0, response.headers['retry-after']);
      });
    });
    sent.on('error', () => {
      told(0);
    });
    sent.end(body);
  });
}

process.once('message', (load) => {
  void run(load as Load).then((calls) => {
    process.send?.(calls, () => process.disconnect());
    agent.destroy();
  });
});
