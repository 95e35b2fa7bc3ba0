import { Worker } from 'node:worker_threads';
import type { DeviceKind } from '../../contracts/model.js';
import type {
  NumberedRequest,
  RunOutputs,
  SessionFacts,
  WorkerAnswers,
  WorkerReply,
  WorkerRequest,
  WorkerSettings,
} from './session-messages.js';

/** One device: a worker thread that holds the sessions of every model and runs one batch at a time. */
export interface Device {
  readonly kind: DeviceKind;
  /**
   * Loads a graph.
   * @param model the bytes of model.onnx; they are transferred, the caller keeps nothing
   * @throws Error with onnxruntime's reason if the graph is broken or the provider missing
   */
  openSession(model: Uint8Array<ArrayBuffer>): Promise<Session>;
  /** Resolves if the worker thread dies without having been told to; everything outstanding has been rejected by then. */
  readonly failed: Promise<Error>;
  /** Awaits a run in flight, releases every session and ends the thread. */
  close(): Promise<void>;
}

/** A loaded graph on a device. */
export interface Session extends Omit<SessionFacts, 'session'> {
  /**
   * Runs a batch.
   * @param input uint8 values, at least as many as `dims` say; transferred, and handed back with the outputs
   */
  run(input: ArrayBuffer, dims: readonly number[]): Promise<RunOutputs>;
  /** Awaits a run in flight, then frees the session. */
  release(): Promise<void>;
}

interface Outstanding {
  resolve(answer: unknown): void;
  reject(error: Error): void;
}

/**
 * Starts the worker thread of a device.
 * @param threads CPU threads that one run may use
 * @throws Error if the kind is not one that onnxruntime knows
 */
export function openDevice({ kind, threads }: { kind: DeviceKind; threads: number }): Device {
  if (kind === 'simulated') throw new Error('a simulated device has no session; use simulatedModel instead');
  const worker = new Worker(new URL('./session-worker.js', import.meta.url), {
    workerData: { kind, threads } satisfies WorkerSettings,
  });
  const channel = askWorker(worker);
  const sessions = new Set<Session>();

  return {
    kind,
    failed: channel.failed,
    openSession: async (model) => {
      const facts = await channel.ask({ type: 'open', model }, [model.buffer]);
      const session = sessionOf(facts, channel.ask, () => sessions.delete(session));
      sessions.add(session);
      const problem = misplacement(kind, facts.placement);
      if (problem === undefined) return session;
      await session.release();
      throw new Error(problem);
    },
    close: async () => {
      await Promise.allSettled([...sessions].map((session) => session.release()));
      await channel.end();
    },
  };
}

function sessionOf(facts: SessionFacts, ask: Ask, onRelease: () => void): Session {
  let released: Promise<void> | undefined;
  return {
    inputs: facts.inputs,
    outputs: facts.outputs,
    placement: facts.placement,
    run: (input, dims) => {
      if (released !== undefined) return Promise.reject(new Error('the session has been released'));
      return ask({ type: 'run', session: facts.session, input, dims }, [input]);
    },
    // The worker takes requests in order, so a run that was asked for earlier ends first.
    release: () => (released ??= ask({ type: 'release', session: facts.session }).then(onRelease)),
  };
}

const providerNames: Readonly<Partial<Record<DeviceKind, string>>> = {
  cuda: 'CUDAExecutionProvider',
  webgpu: 'WebGpuExecutionProvider',
};

/** Why a session is not really on its device, if so: a provider that loads may still leave every node to the CPU. */
function misplacement(kind: DeviceKind, placement: SessionFacts['placement']): string | undefined {
  const provider = providerNames[kind];
  if (provider === undefined || placement === undefined || (placement[provider] ?? 0) > 0) return undefined;
  return `no node of the graph runs on ${provider}: ${JSON.stringify(placement)}`;
}

type Ask = <Request extends WorkerRequest>(
  request: Request,
  transfer?: ArrayBuffer[],
) => Promise<WorkerAnswers[Request['type']]>;

interface WorkerChannel {
  readonly ask: Ask;
  readonly failed: Promise<Error>;
  /** Ends the thread once nothing is outstanding. */
  end(): Promise<void>;
}

/** Turns messages into promises, and the worker's death into their rejection. */
function askWorker(worker: Worker): WorkerChannel {
  const outstanding = new Map<number, Outstanding>();
  let asked = 0;
  let ending = false;
  let death: Error | undefined;
  let reportFailure: (error: Error) => void = () => undefined;
  const failed = new Promise<Error>((resolve) => {
    reportFailure = resolve;
  });

  const die = (error: Error): void => {
    if (death !== undefined) return;
    death = error;
    for (const { reject } of outstanding.values()) reject(error);
    outstanding.clear();
    if (!ending) reportFailure(error);
  };
  worker.on('message', (reply: WorkerReply) => {
    const waiting = outstanding.get(reply.id);
    outstanding.delete(reply.id);
    if ('error' in reply) waiting?.reject(new Error(reply.error));
    else waiting?.resolve(reply.answer);
  });
  worker.on('error', (cause) => {
    die(new Error('the worker thread of the device failed', { cause }));
  });
  worker.on('exit', (code) => {
    die(new Error(`the worker thread of the device ended with code ${String(code)}`));
  });

  const ask = (request: WorkerRequest, transfer: ArrayBuffer[] = []): Promise<unknown> =>
    new Promise((resolve, reject) => {
      if (death !== undefined || ending) {
        reject(death ?? new Error('the device is closed'));
        return;
      }
      const id = asked++;
      outstanding.set(id, { resolve, reject });
      worker.postMessage({ ...request, id } satisfies NumberedRequest, transfer);
    });

  return {
    ask: ask as Ask,
    failed,
    end: async () => {
      ending = true;
      // Terminating a thread in mid-run aborts the whole process.
      await Promise.allSettled([...outstanding.values()].map(settled));
      await worker.terminate();
    },
  };
}
