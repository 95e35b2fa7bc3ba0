import protobuf from 'protobufjs';

/** The part of ONNX's protobuf schema that our files use; numbers as in the standard's onnx.proto. */
const schema = protobuf.parse(
  `
  syntax = "proto2"; package onnx;
  message Model { optional int64 ir_version = 1; optional string producer_name = 2; optional Graph graph = 7; repeated Opset opset_import = 8; }
  message Opset { optional string domain = 1; optional int64 version = 2; }
  message Graph { repeated Node node = 1; optional string name = 2; repeated Tensor initializer = 5; repeated Value input = 11; repeated Value output = 12; }
  message Node { repeated string input = 1; repeated string output = 2; optional string name = 3; optional string op_type = 4; repeated Attribute attribute = 5; }
  message Attribute { optional string name = 1; optional float f = 2; optional int64 i = 3; optional bytes s = 4; repeated float floats = 7; repeated int64 ints = 8; optional int32 type = 20; }
  message Tensor { repeated int64 dims = 1; optional int32 data_type = 2; optional string name = 8; optional bytes raw_data = 9; }
  message Value { optional string name = 1; optional Type type = 2; }
  message Type { optional TensorType tensor_type = 1; }
  message TensorType { optional int32 elem_type = 1; optional Shape shape = 2; }
  message Shape { repeated Dimension dim = 1; }
  message Dimension { optional int64 dim_value = 1; optional string dim_param = 2; }
`,
  { keepCase: true },
).root;

export const elementTypes = { float32: 1, uint8: 2, int32: 6, int64: 7, float16: 10 } as const;
export type ElementType = keyof typeof elementTypes;

export type AttributeValue = number | string | readonly number[] | { readonly float: number };

export interface OnnxNode {
  readonly op: string;
  readonly inputs: readonly string[];
  readonly outputs: readonly string[];
  /** Bare numbers are integers; floats are wrapped, since ONNX tells the two apart and JavaScript does not. */
  readonly attributes: Readonly<Record<string, AttributeValue>>;
}

export interface OnnxInitializer {
  readonly name: string;
  readonly type: ElementType;
  readonly dims: readonly number[];
  /** Little-endian elements, row by row. */
  readonly data: Uint8Array;
}

/** An input or output of the graph; a negative dimension is the batch. */
export interface OnnxPort {
  readonly name: string;
  readonly type: ElementType;
  readonly dims: readonly number[];
}

export interface OnnxGraph {
  readonly name: string;
  readonly nodes: readonly OnnxNode[];
  readonly initializers: readonly OnnxInitializer[];
  readonly inputs: readonly OnnxPort[];
  readonly outputs: readonly OnnxPort[];
}

/** Opset 17 has every operator used here in the form that it keeps in later ones; file format 8 belongs to it. */
const opset = 17;
const irVersion = 8;

/** The bytes of a model.onnx. */
export function encodeOnnx(graph: OnnxGraph): Uint8Array {
  const modelType = schema.lookupType('onnx.Model');
  const model = {
    ir_version: irVersion,
    producer_name: 'sampan',
    opset_import: [{ domain: '', version: opset }],
    graph: {
      name: graph.name,
      node: graph.nodes.map(nodeMessage),
      initializer: graph.initializers.map((initializer) => ({
        dims: initializer.dims,
        data_type: elementTypes[initializer.type],
        name: initializer.name,
        raw_data: initializer.data,
      })),
      input: graph.inputs.map(portMessage),
      output: graph.outputs.map(portMessage),
    },
  };
  const problem = modelType.verify(model);
  if (problem !== null) throw new Error(`the ONNX model cannot be written: ${problem}`);
  return modelType.encode(model).finish();
}

function nodeMessage(node: OnnxNode): object {
  return {
    name: node.outputs[0],
    op_type: node.op,
    input: node.inputs,
    output: node.outputs,
    attribute: Object.entries(node.attributes).map(([name, value]) => ({ name, ...attributeMessage(value) })),
  };
}

/** Attribute type numbers: 1 float, 2 integer, 3 string, 7 integers. */
function attributeMessage(value: AttributeValue): object {
  if (typeof value === 'number') return { i: value, type: 2 };
  if (typeof value === 'string') return { s: Buffer.from(value), type: 3 };
  if ('float' in value) return { f: value.float, type: 1 };
  return { ints: value, type: 7 };
}

function portMessage(port: OnnxPort): object {
  const dim = port.dims.map((size) => (size < 0 ? { dim_param: 'N' } : { dim_value: size }));
  return { name: port.name, type: { tensor_type: { elem_type: elementTypes[port.type], shape: { dim } } } };
}
