import * as tf from '@tensorflow/tfjs-core';
import type { Device } from '../../../backend/model/session.js';
import { convertGraph } from '../../../infra/models/convert.js';
import { createGraphBuilder, stored } from '../../../infra/models/graph-builder.js';
import { itemAt, plainLayout } from '../../../infra/models/layout.js';
import { imagePort, normalisedImage, type PixelForm } from '../../../infra/models/recipes/image-input.js';
import { readTfjsGraph } from '../../../infra/models/tfjs-graph.js';
import { loadTfjs } from './tfjs-reference.js';

/** A TFJS graph of a few nodes, written by hand: from the placeholder `input` to the node `output`. */
export interface SmallGraph {
  readonly nodes: readonly SmallNode[];
  readonly weights: readonly SmallWeight[];
}

export interface SmallNode {
  readonly name: string;
  readonly op: string;
  readonly input: readonly string[];
  readonly attr?: Readonly<Record<string, object>>;
}

export interface SmallWeight {
  readonly name: string;
  readonly shape: number[];
  readonly values: Float32Array | Int32Array | Uint8Array | Uint16Array;
  readonly quantization?: { readonly dtype: 'uint8' | 'float16'; readonly scale?: number; readonly min?: number };
}

export const text = (value: string): object => ({ s: Buffer.from(value).toString('base64') });
export const texts = (...values: string[]): object => ({
  list: { s: values.map((value) => Buffer.from(value).toString('base64')) },
});
export const integers = (...values: number[]): object => ({ list: { i: values.map(String) } });

/** Weights that look random and are the same every time. */
export function weight(name: string, ...shape: number[]): SmallWeight {
  const values = Float32Array.from({ length: tf.util.sizeFromShape(shape) }, (_, index) =>
    Math.sin(index * 12.9898 + 1),
  );
  return { name, shape, values };
}

export function integerWeight(name: string, values: readonly number[], shape: number[] = [values.length]): SmallWeight {
  return { name, shape, values: Int32Array.from(values) };
}

/** The model.json and weight file of a graph. */
export function filesOf({ nodes, weights }: SmallGraph): { model: ModelFile; bytes: Buffer } {
  const constants = weights.map(({ name, values }) => ({
    name,
    op: 'Const',
    attr: { dtype: { type: values instanceof Int32Array ? 'DT_INT32' : 'DT_FLOAT' } },
  }));
  const placeholder = { name: 'input', op: 'Placeholder', attr: { dtype: { type: 'DT_FLOAT' } } };
  const specs = weights.map(({ name, shape, values, quantization }) => ({
    name,
    shape,
    dtype: values instanceof Int32Array ? ('int32' as const) : ('float32' as const),
    ...(quantization === undefined ? {} : { quantization }),
  }));
  return {
    model: {
      format: 'graph-model',
      modelTopology: {
        node: [placeholder, ...constants, ...nodes.map((node) => ({ attr: {}, ...node }))],
        library: {},
        versions: { producer: 1 },
      },
      weightsManifest: [{ paths: ['weights.bin'], weights: specs }],
    },
    bytes: Buffer.concat(weights.map(({ values }) => Buffer.from(values.buffer, values.byteOffset, values.byteLength))),
  };
}

interface ModelFile {
  readonly format: string;
  readonly modelTopology: { readonly node: readonly object[]; readonly library: object; readonly versions: object };
  readonly weightsManifest: { readonly paths: string[]; readonly weights: tf.io.WeightsManifestEntry[] }[];
}

/** Converts a graph whose placeholder is an image of this size. */
export function convertSmall(graph: SmallGraph, width: number, height: number): Uint8Array<ArrayBuffer> {
  const { model, bytes } = filesOf(graph);
  const pixels: PixelForm = { width, height, order: 'rgb', mean: [0, 0, 0], deviation: [1, 1, 1] };
  const builder = createGraphBuilder();
  const source = readTfjsGraph(model, () => bytes);
  const output = itemAt(convertGraph(source, { input: normalisedImage(builder, pixels) }, ['output'], builder), 0);
  builder.output(stored(builder, output, plainLayout(output.shape.length)), 'output');
  return Uint8Array.from(builder.finish('small', imagePort(pixels)));
}

/** How far the converted graph's answers lie from the TFJS runtime's, for a batch of pictures. */
export async function distanceToTfjs(
  device: Device,
  graph: SmallGraph,
  [width, height]: readonly [number, number],
  batch = 1,
): Promise<number> {
  const perImage = width * height * 3;
  const pixels = Uint8Array.from({ length: batch * perImage }, (_, index) => (index * 37 + index * index) % 251);
  const expected = await runTfjs(graph, pixels, perImage, [1, height, width, 3]);
  const session = await device.openSession(convertSmall(graph, width, height));
  const { outputs } = await session.run(Uint8Array.from(pixels).buffer, [batch, height, width, 3]);
  await session.release();
  const values = outputs['output'];
  if (values?.length !== expected.length) {
    throw new Error(`${String(values?.length)} values instead of ${String(expected.length)}`);
  }
  return expected.reduce((most, value, index) => Math.max(most, Math.abs(value - itemAt(values, index))), 0);
}

/** Image by image, since sources may have a batch of 1 written into them. */
async function runTfjs(
  graph: SmallGraph,
  pixels: Uint8Array,
  perImage: number,
  shape: [number, number, number, number],
): Promise<number[]> {
  const { model, bytes } = filesOf(graph);
  const reference = await loadTfjs(model, bytes);
  const answers: number[] = [];
  for (let from = 0; from < pixels.length; from += perImage) {
    const image = tf.tensor4d(new Float32Array(pixels.subarray(from, from + perImage)), shape);
    const output = reference.execute({ input: image }, 'output');
    if (Array.isArray(output)) throw new Error('more outputs than one');
    answers.push(...output.dataSync());
  }
  return answers;
}
