import { inStoredOrder, itemAt, movesBetween, permuteElements, type Layout } from './layout.js';
import {
  encodeOnnx,
  elementTypes,
  type AttributeValue,
  type OnnxInitializer,
  type OnnxNode,
  type OnnxPort,
} from './onnx-writer.js';
import { bytesPerElement, type Weight } from './tfjs-graph.js';

/** The size of the batch in shapes: known only when the model runs. */
export const batchSize = -1;

/** Padding that a Pad of the source asked for, kept aside until it is known whether the next operator can absorb it. */
export interface Padding {
  /** Elements before and after, per logical axis. */
  readonly amounts: readonly (readonly [number, number])[];
  readonly value: number;
}

/** A value that exists when the model runs. */
export interface Tensor {
  readonly kind: 'tensor';
  /** Its name in the ONNX graph. */
  readonly name: string;
  /** As TensorFlow sees it, padding included. */
  readonly shape: readonly number[];
  readonly layout: Layout;
  readonly padding?: Padding;
}

/** A value that is known now. */
export interface Constant {
  readonly kind: 'constant';
  readonly weight: Weight;
}

export type Operand = Tensor | Constant;

/** Collects the nodes and initializers of one ONNX graph and names what they produce. */
export interface GraphBuilder {
  /** Adds an operator and answers the names of its outputs. */
  node(
    op: string,
    inputs: readonly string[],
    attributes?: Readonly<Record<string, AttributeValue>>,
    outputs?: number,
  ): string[];
  integers(values: readonly number[]): string;
  floats(values: readonly number[], dims?: readonly number[]): string;
  /**
   * Adds a weight in the compact form it came in, and the operators that turn it into float32 (folded when the model is
   * loaded).
   * @param axes the source axis of each target axis
   * @param dims the target's dimensions, where they are not simply those of the permuted source
   */
  weight(weight: Weight, axes?: readonly number[], dims?: readonly number[]): string;
  /** Gives a value a name of the graph's interface. */
  output(tensor: Tensor, name: string): void;
  finish(name: string, input: OnnxPort): Uint8Array;
}

export function createGraphBuilder(): GraphBuilder {
  const nodes: OnnxNode[] = [];
  const initializers: OnnxInitializer[] = [];
  const outputs: OnnxPort[] = [];

  const initializer = (type: OnnxInitializer['type'], dims: readonly number[], data: Uint8Array): string => {
    const name = `const_${String(initializers.length)}`;
    initializers.push({ name, type, dims, data });
    return name;
  };
  const floats = (values: readonly number[], dims: readonly number[] = [values.length]): string =>
    initializer('float32', dims, bytesOf(Float32Array.from(values)));
  const node: GraphBuilder['node'] = (op, inputs, attributes = {}, count = 1) => {
    const names = Array.from(
      { length: count },
      (_, index) => `${op}_${String(nodes.length)}${index > 0 ? `_${String(index)}` : ''}`,
    );
    nodes.push({ op, inputs, outputs: names, attributes });
    return names;
  };
  const dequantized = (name: string, { form, quantization }: Weight): string => {
    if (form === 'float32') return name;
    const [cast = ''] = node('Cast', [name], { to: elementTypes.float32 });
    if (quantization === undefined) return cast;
    const [scaled = ''] = node('Mul', [cast, floats([quantization.scale], [])]);
    return itemAt(node('Add', [scaled, floats([quantization.min], [])]), 0);
  };

  return {
    node,
    floats,
    integers: (values) => initializer('int64', [values.length], bytesOf(BigInt64Array.from(values, BigInt))),
    weight: (weight, axes = weight.shape.map((_, axis) => axis), dims = inStoredOrder(axes, weight.shape)) => {
      const data = permuteElements(weight.data, bytesPerElement[weight.form], weight.shape, axes);
      return dequantized(initializer(weight.form, dims, data), weight);
    },
    output: (tensor, name) => {
      nodes.push({ op: 'Identity', inputs: [tensor.name], outputs: [name], attributes: {} });
      outputs.push({ name, type: 'float32', dims: tensor.shape });
    },
    finish: (name, input) => encodeOnnx({ name, nodes, initializers, inputs: [input], outputs }),
  };
}

/** One operator with one output, its result a tensor. */
export function derive(
  builder: GraphBuilder,
  op: string,
  inputs: readonly string[],
  result: { shape: readonly number[]; layout: Layout },
  attributes: Readonly<Record<string, AttributeValue>> = {},
): Tensor {
  const [name = ''] = builder.node(op, inputs, attributes);
  return { kind: 'tensor', name, shape: result.shape, layout: result.layout };
}

/** The same value stored in another order, padded for real where padding was still kept aside. */
export function stored(builder: GraphBuilder, tensor: Tensor, layout: Layout = tensor.layout): Tensor {
  const padded = padForReal(builder, tensor);
  const moves = movesBetween(padded.layout, layout);
  if (moves === undefined) return padded;
  return derive(builder, 'Transpose', [padded.name], { shape: padded.shape, layout }, { perm: moves });
}

function padForReal(builder: GraphBuilder, tensor: Tensor): Tensor {
  const { padding, layout, shape } = tensor;
  if (padding === undefined) return tensor;
  const amounts = inStoredOrder(layout, padding.amounts);
  const pads = builder.integers([...amounts.map(([before]) => before), ...amounts.map(([, after]) => after)]);
  return derive(builder, 'Pad', [tensor.name, pads, builder.floats([padding.value], [])], { shape, layout });
}

function bytesOf(array: Float32Array | BigInt64Array): Uint8Array {
  return new Uint8Array(array.buffer, array.byteOffset, array.byteLength);
}
