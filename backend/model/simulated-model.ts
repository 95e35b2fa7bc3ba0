import { setTimeout as sleep } from 'node:timers/promises';
import { Failure } from '../../contracts/failure.js';
import { batchLimitFor, modelManifestSchema, type ModelManifest } from '../../contracts/model.js';
import type { Params } from '../../contracts/params.js';
import type { Predictions } from '../../contracts/prediction.js';
import type { Latch } from './latch.js';
import type { DecodedImage, Model, RawOutput } from './model.js';
import { contains, misbehave, type RunJournal, type SimulatedFaults } from './simulated-faults.js';

/** How a simulated device behaves; everything left out costs nothing and never fails. */
export interface SimulatedModelOptions {
  /** What differs from the plain manifest (name `simulated`, version `1`, task classify). */
  readonly manifest?: Partial<ModelManifest>;
  /** Milliseconds that every run costs. */
  readonly baseMs?: number;
  /** Milliseconds that every image of a run costs on top. No timer is set where both are 0. */
  readonly perImageMs?: number;
  /** Milliseconds that decoding one image costs. */
  readonly decodeMs?: number;
  /** Every run passes this gate before it costs anything. */
  readonly latch?: Latch;
  /** Runs that fail, the first being 1. */
  readonly failRuns?: readonly number[];
  readonly faults?: SimulatedFaults;
  /** Told of every run, before it costs anything and when it has been answered. */
  readonly runJournal?: RunJournal;
  /** Decoding fails with image_unreadable when the image contains this. */
  readonly failDecodeOn?: string | Buffer;
  /** Whether the journal notes every run and answer (default yes); a process that runs for long must not. */
  readonly keepsJournal?: boolean;
  /** The size that every image pretends to have; that of the manifest's input by default. */
  readonly imageSize?: { readonly width: number; readonly height: number };
}

/** What the simulated device did; all of it counts from its creation. */
export interface SimulationJournal {
  /** The size of every batch that was run, in order, failed runs included. */
  readonly runs: readonly number[];
  /** The label of every image that a run answered, in order. */
  readonly answered: readonly string[];
  readonly decoded: number;
  readonly warmUps: number;
  readonly released: boolean;
}

export interface SimulatedModel extends Model {
  readonly journal: SimulationJournal;
}

/**
 * A model without a device, for tests and benchmarks. A run costs `baseMs + perImageMs · batch`; decoding keeps the
 * bytes as they are, so that the answer's label can be computed from what was sent ({@link simulatedLabel}).
 */
export function simulatedModel(options: SimulatedModelOptions = {}): SimulatedModel {
  const manifest = simulatedManifest(options.manifest);
  const { width, height } = options.imageSize ?? manifest.input;
  const { keepsJournal = true } = options;
  const runs: number[] = [];
  let runCount = 0;
  const answered: string[] = [];
  const journal = { runs, answered, decoded: 0, warmUps: 0, released: false };
  let inFlight: Promise<readonly RawOutput[]> | undefined;

  const decode = async (image: Uint8Array): Promise<DecodedImage> => {
    if (options.decodeMs) await sleep(options.decodeMs);
    if (contains(image, options.failDecodeOn)) {
      throw new Failure('image_unreadable', 'the simulated model was told to refuse this image');
    }
    journal.decoded += 1;
    return { pixels: image, width, height };
  };

  const cost = async (count: number) => {
    const ms = (options.baseMs ?? 0) + (options.perImageMs ?? 0) * count;
    if (ms > 0) await sleep(ms);
  };
  const run = async (images: readonly DecodedImage[]): Promise<readonly RawOutput[]> => {
    const number = ++runCount;
    const pixels = images.map((image) => image.pixels);
    if (keepsJournal) runs.push(images.length);
    options.runJournal?.('start', pixels);
    await options.latch?.pass();
    if (options.failRuns?.includes(number)) throw new Error(`simulated run ${String(number)} was told to fail`);
    if (options.faults) await misbehave(options.faults, pixels);
    await cost(images.length);
    options.runJournal?.('end', pixels);
    const sums = images.map((image) => checksum(image.pixels));
    if (keepsJournal) for (const sum of sums) answered.push(labelOf(sum));
    return sums.map((sum) => ({ checksum: halves(sum) }));
  };

  const infer = (images: readonly DecodedImage[]): Promise<readonly RawOutput[]> => {
    const refusal = refusalOf(
      images.length,
      batchLimitFor(manifest, 'simulated').max,
      inFlight !== undefined,
      journal.released,
    );
    if (refusal !== undefined) return Promise.reject(new Error(refusal));
    inFlight = run(images).finally(() => {
      inFlight = undefined;
    });
    return inFlight;
  };

  return {
    manifest,
    device: 'simulated',
    journal,
    decode,
    infer,
    predict: (raw, image, params) => predictLabel(manifest, raw, image, params),
    warmUp: () => {
      journal.warmUps += 1;
      return Promise.resolve();
    },
    canary: async () => {
      await infer([{ pixels: Buffer.from('canary'), width, height }]);
    },
    release: async () => {
      await inFlight?.catch(() => undefined);
      journal.released = true;
    },
  };
}

/** The label that the simulated model gives to an image: eight hexadecimal digits that depend on its bytes. */
export function simulatedLabel(image: Uint8Array): string {
  return labelOf(checksum(image));
}

function labelOf(sum: number): string {
  return sum.toString(16).padStart(8, '0');
}

/** A manifest that needs no files; `changes` are laid over it. */
export function simulatedManifest(changes: Partial<ModelManifest> = {}): ModelManifest {
  return modelManifestSchema.parse({
    name: 'simulated',
    version: '1',
    task: 'classify',
    description: 'Answers with a checksum of the image instead of looking at it.',
    sha256: '0'.repeat(64),
    input: {
      name: 'image',
      width: 64,
      height: 64,
      fit: 'fill',
      kernel: 'linear',
      colour: 'srgb',
      background: '#ffffff',
    },
    outputs: [{ name: 'checksum', shape: [2] }],
    labels: [],
    thresholds: {},
    batch: { simulated: { max: 32, maxWaitMs: 0 } },
    runLimitMs: 30_000,
    licence: 'Apache-2.0',
    origin: 'simulated',
    ...changes,
  });
}

/** The promises of `Model` that a caller can break; a real device would suffer, this one complains. */
function refusalOf(size: number, max: number, busy: boolean, released: boolean): string | undefined {
  if (released) return 'the simulated model is released';
  if (busy) return 'the simulated device was given a batch while another one ran';
  if (size < 1 || size > max) return `the simulated device takes 1 to ${String(max)} images, not ${String(size)}`;
  return undefined;
}

function predictLabel(manifest: ModelManifest, raw: RawOutput, image: DecodedImage, params: Params): Predictions {
  const [high = 0, low = 0] = raw['checksum'] ?? [];
  const label = labelOf(high * 0x10000 + low);
  const score = 1;
  if (score < (params.minScore ?? 0)) return [];
  switch (manifest.task) {
    case 'classify':
    case 'tag':
      return [{ label, score }];
    case 'detect':
      return [{ label, score, box: [0, 0, image.width, image.height] }];
    case 'caption':
      return { text: label };
    case 'embed':
      return { vector: [high, low] };
  }
}

/** Bytes looked at from either end: enough to tell test images apart, little enough to leave benchmarks alone. */
const checksumReach = 512;

/** FNV-1a (32 bits) of the length and the first and last 512 bytes. */
function checksum(image: Uint8Array): number {
  let hash = Math.imul(0x811c9dc5 ^ image.length, 0x01000193);
  const headEnd = Math.min(checksumReach, image.length);
  for (let at = 0; at < headEnd; at++) hash = Math.imul(hash ^ (image[at] ?? 0), 0x01000193);
  for (let at = Math.max(headEnd, image.length - checksumReach); at < image.length; at++) {
    hash = Math.imul(hash ^ (image[at] ?? 0), 0x01000193);
  }
  return hash >>> 0;
}

/** A float32 holds 24 bits exactly, so a checksum travels through a raw output in two parts. */
function halves(value: number): Float32Array {
  return Float32Array.of(value >>> 16, value & 0xffff);
}
