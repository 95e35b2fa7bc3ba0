import { Worker } from 'node:worker_threads';
import type { DeviceKind } from '../../contracts/model.js';
import type { RunOutputs, SessionFacts, WorkerSettings } from './session-messages.js';
import { openChannel, type WorkerChannel } from './worker-channel.js';

/** One device: a worker thread that holds the sessions of every model and runs one batch at a time. */
export interface Device {
  readonly kind: DeviceKind;
  /**
   * Loads a graph.
   * @param model the bytes of model.onnx; they are transferred, the caller keeps nothing
   * @throws Error with onnxruntime's reason if the graph is broken or the provider missing
   */
  openSession(model: Uint8Array<ArrayBuffer>): Promise<Session>;
  /** Resolves if the worker thread dies without having been told to; everything outstanding was rejected by then. */
  readonly failed: Promise<Error>;
  /** Awaits a run in flight, releases every session and ends the thread. */
  close(): Promise<void>;
}

/** A loaded graph on a device. */
export interface Session extends SessionFacts {
  /**
   * Runs a batch.
   * @param input uint8 values, at least as many as `dims` say; transferred, and handed back with the outputs
   */
  run(input: ArrayBuffer, dims: readonly number[]): Promise<RunOutputs>;
  /** Awaits a run in flight, then frees the session. */
  release(): Promise<void>;
}

/**
 * Starts the worker thread of a device.
 * @param index which of several devices of that kind
 * @param threads CPU threads that one run may use
 * @throws Error for the simulated kind, which has no sessions
 */
export function openDevice({
  kind,
  threads,
  index = 0,
}: {
  kind: DeviceKind;
  threads: number;
  index?: number;
}): Device {
  if (kind === 'simulated') throw new Error('a simulated device has no sessions; simulatedModel stands in for it');
  const settings: WorkerSettings = { kind, index, threads };
  const channel = openChannel(new Worker(new URL('./session-worker.js', import.meta.url), { workerData: settings }));
  const sessions = new Set<Session>();

  return {
    kind,
    failed: channel.failed,
    openSession: async (model) => {
      const { session: number, facts } = await channel.ask('opened', { type: 'open', model }, [model.buffer]);
      const session = sessionOf(channel, number, facts, () => sessions.delete(session));
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

function sessionOf(channel: WorkerChannel, number: number, facts: SessionFacts, onRelease: () => void): Session {
  let released: Promise<void> | undefined;
  const release = async (): Promise<void> => {
    // The worker takes requests in order, so a run that was asked for earlier ends first.
    await channel.ask('released', { type: 'release', session: number }, []);
    onRelease();
  };
  return {
    ...facts,
    run: async (input, dims) => {
      if (released !== undefined) throw new Error('the session has been released');
      return (await channel.ask('ran', { type: 'run', session: number, input, dims }, [input])).result;
    },
    release: () => (released ??= release()),
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
