/**
 * The worker thread of one device: it holds the ONNX sessions and does one thing at a time. A run is a synchronous native
 * call, which is why it does not happen on the main thread. Nothing else imports onnxruntime.
 */
import { readdir, readFile, rm, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parentPort, workerData } from 'node:worker_threads';
import { InferenceSession, Tensor } from 'onnxruntime-node';
import * as z from 'zod';
import type {
  Numbered,
  Port,
  RunOutputs,
  SessionFacts,
  WorkerAnswer,
  WorkerReply,
  WorkerRequest,
} from './session-messages.js';

const settings = z
  .object({ kind: z.enum(['cpu', 'cuda', 'webgpu']), index: z.int().nonnegative(), threads: z.int().positive() })
  .parse(workerData);
if (parentPort === null) throw new Error('session-worker.js only runs as a worker thread');
const port = parentPort;

const sessions = new Map<number, InferenceSession>();
let opened = 0;
let queue: Promise<void> = Promise.resolve();

port.on('message', (request: Numbered<WorkerRequest>) => {
  queue = queue.then(() => answer(request));
});

async function answer({ id, content }: Numbered<WorkerRequest>): Promise<void> {
  try {
    const reply = await handle(content);
    const transfer = reply.type === 'ran' ? buffersOf(reply.result) : [];
    port.postMessage({ id, content: reply } satisfies Numbered<WorkerReply>, transfer);
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error);
    port.postMessage({ id, content: { type: 'refused', reason } } satisfies Numbered<WorkerReply>);
  }
}

function buffersOf({ input, outputs }: RunOutputs): ArrayBuffer[] {
  return [input, ...Object.values(outputs).map((values) => values.buffer)];
}

async function handle(request: WorkerRequest): Promise<WorkerAnswer> {
  switch (request.type) {
    case 'open':
      return open(request.model);
    case 'run':
      return { type: 'ran', result: await run(heldSession(request.session), request.input, request.dims) };
    case 'release':
      await heldSession(request.session).release();
      sessions.delete(request.session);
      return { type: 'released' };
  }
}

function heldSession(number: number): InferenceSession {
  const session = sessions.get(number);
  if (session === undefined) throw new Error(`session ${String(number)} is not open`);
  return session;
}

async function open(model: Uint8Array): Promise<WorkerAnswer> {
  // The provider stands alone in the list: onnxruntime would otherwise fall back to the CPU without a word.
  const placement = settings.kind === 'cpu' ? undefined : await placementOf(model);
  const session = await InferenceSession.create(model, sessionOptions());
  const number = opened++;
  sessions.set(number, session);
  const facts: SessionFacts = {
    inputs: session.inputMetadata.map(portOf),
    outputs: session.outputMetadata.map(portOf),
    placement,
  };
  return { type: 'opened', session: number, facts };
}

function sessionOptions(): InferenceSession.SessionOptions {
  return {
    executionProviders: [settings.kind === 'cuda' ? { name: 'cuda', deviceId: settings.index } : settings.kind],
    intraOpNumThreads: settings.threads,
    // Patterns are made anew for every batch size: slower first runs and more memory than they save.
    enableMemPattern: false,
    enableCpuMemArena: true,
    graphOptimizationLevel: 'all',
    logSeverityLevel: 3,
    // Threads that spin between runs take the core from whoever decodes the next batch.
    extra: { session: { intra_op: { allow_spinning: '0' } } },
  };
}

function portOf(metadata: InferenceSession.ValueMetadata): Port {
  if (!metadata.isTensor) return { name: metadata.name, type: 'not a tensor', dims: [] };
  return { name: metadata.name, type: metadata.type, dims: [...metadata.shape] };
}

/** The device's sessions have one input, uint8, and outputs of float32: load.ts has looked. */
async function run(session: InferenceSession, input: ArrayBuffer, dims: readonly number[]): Promise<RunOutputs> {
  const name = session.inputNames[0];
  if (name === undefined) throw new Error('the model has no input');
  const length = dims.reduce((product, size) => product * size, 1);
  const results = await session.run({ [name]: new Tensor('uint8', new Uint8Array(input, 0, length), dims) });
  const outputs: Record<string, Float32Array<ArrayBuffer>> = {};
  for (const [output, tensor] of Object.entries(results)) outputs[output] = transferable(output, tensor.data);
  return { outputs, input };
}

function transferable(name: string, data: Tensor['data']): Float32Array<ArrayBuffer> {
  if (!(data instanceof Float32Array)) throw new Error(`output ${name} is not float32`);
  const { buffer, byteOffset, length } = data;
  const owned = buffer instanceof ArrayBuffer && byteOffset === 0 && buffer.byteLength === data.byteLength;
  return owned ? new Float32Array(buffer, 0, length) : Float32Array.from(data);
}

const profileSchema = z.array(
  z.object({ cat: z.string().optional(), args: z.object({ provider: z.string().optional() }).optional() }),
);

/**
 * Counts nodes by the provider that ran them, from onnxruntime's own profile of a run of one blank image: there is no
 * other way to learn where they landed.
 */
async function placementOf(model: Uint8Array): Promise<Readonly<Record<string, number>>> {
  const folder = await mkdtemp(join(tmpdir(), 'placement-'));
  try {
    const options = { ...sessionOptions(), enableProfiling: true, profileFilePrefix: join(folder, 'run') };
    const session = await InferenceSession.create(model, options);
    try {
      await run(session, ...blankInput(session));
      session.endProfiling();
    } finally {
      await session.release();
    }
    return await countProviders(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

function blankInput(session: InferenceSession): [input: ArrayBuffer, dims: number[]] {
  const [metadata] = session.inputMetadata;
  const shape = metadata?.isTensor === true ? metadata.shape : [];
  const dims = shape.map((size) => (typeof size === 'number' ? size : 1));
  return [new ArrayBuffer(dims.reduce((product, size) => product * size, 1)), dims];
}

async function countProviders(folder: string): Promise<Readonly<Record<string, number>>> {
  const counts: Record<string, number> = {};
  for (const file of await readdir(folder)) {
    for (const { cat, args } of profileSchema.parse(JSON.parse(await readFile(join(folder, file), 'utf8')))) {
      if (cat === 'Node' && args?.provider !== undefined) counts[args.provider] = (counts[args.provider] ?? 0) + 1;
    }
  }
  return counts;
}
