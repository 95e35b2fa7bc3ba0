import { integerConstant, knownIntegers } from '../constants.js';
import { inStoredOrder, itemAt, storedAxis } from '../layout.js';
import { derive, stored, type GraphBuilder, type Operand, type Tensor } from '../graph-builder.js';
import type { AttributeValue } from '../onnx-writer.js';
import { elementCount, type GraphNode, type Weight } from '../tfjs-graph.js';
import { tensorInput, type Operator } from './operator.js';

export const sigmoid: Operator = (node, inputs, builder) => [unary(builder, 'Sigmoid', tensorInput(node, inputs, 0))];

/** TensorFlow's default slope is 0.2. */
export const leakyRelu: Operator = (node, inputs, builder) => [
  unary(builder, 'LeakyRelu', tensorInput(node, inputs, 0), { alpha: { float: node.attr['alpha']?.f ?? 0.2 } }),
];

/** Over the last axis, wherever that is stored. */
export const softmax: Operator = (node, inputs, builder) => {
  const source = tensorInput(node, inputs, 0);
  return [unary(builder, 'Softmax', source, { axis: storedAxis(source.layout, -1) })];
};

export const passOn: Operator = (_node, inputs) => inputs.slice(0, 1);

export const add = binary('Add', (left, right) => left + right);
export const subtract = binary('Sub', (left, right) => left - right);
export const multiply = binary('Mul', (left, right) => left * right);

/** Applies what TensorFlow fused behind an operator; the bias is the operator's own business. */
export function activate(node: GraphNode, result: Tensor, fused: readonly string[], builder: GraphBuilder): Tensor {
  let activated = result;
  for (const step of fused) {
    if (step === 'BiasAdd') continue;
    if (step === 'Relu') activated = unary(builder, 'Relu', activated);
    else if (step === 'Relu6') activated = clipped(builder, activated, 0, 6);
    else throw new Error(`${node.op} ${node.name} has ${step} fused in, which is not converted here`);
  }
  return activated;
}

function clipped(builder: GraphBuilder, source: Tensor, low: number, high: number): Tensor {
  return derive(builder, 'Clip', [source.name, builder.floats([low], []), builder.floats([high], [])], source);
}

function unary(
  builder: GraphBuilder,
  op: string,
  source: Tensor,
  attributes?: Readonly<Record<string, AttributeValue>>,
): Tensor {
  const input = stored(builder, source);
  return derive(builder, op, [input.name], input, attributes);
}

function binary(op: string, fold: (left: number, right: number) => number): Operator {
  return (node, inputs, builder) => {
    const left = itemAt(inputs, 0);
    const right = itemAt(inputs, 1);
    const model = left.kind === 'tensor' ? left : right;
    if (model.kind === 'constant') return [folded(node, left, right, fold)];
    const frame = stored(builder, model);
    const names = [left, right].map((operand) => {
      if (operand === model) return frame.name;
      return operand.kind === 'tensor'
        ? alignedTensor(node, operand, frame, builder)
        : alignedConstant(node, operand.weight, frame, builder);
    });
    return [derive(builder, op, names, frame)];
  };
}

/** Shapes that the source computes from constants are computed here, once. */
function folded(
  node: GraphNode,
  left: Operand,
  right: Operand,
  fold: (left: number, right: number) => number,
): Operand {
  const leftValues = knownIntegers(left, `the left side of ${node.name}`);
  const rightValues = knownIntegers(right, `the right side of ${node.name}`);
  if (leftValues.length !== rightValues.length) throw new Error(`${node.op} ${node.name} adds lists of unequal length`);
  const values = leftValues.map((value, index) => fold(value, itemAt(rightValues, index)));
  return integerConstant(node.name, [values.length], values);
}

function alignedTensor(node: GraphNode, operand: Tensor, frame: Tensor, builder: GraphBuilder): string {
  if (operand.shape.join() !== frame.shape.join()) {
    throw new Error(
      `${node.op} ${node.name} broadcasts [${operand.shape.join()}] over [${frame.shape.join()}], which is not converted here`,
    );
  }
  return stored(builder, operand, frame.layout).name;
}

/** A scalar stays one; anything else gets an axis of 1 wherever it is repeated, in the order of the frame. */
function alignedConstant(node: GraphNode, weight: Weight, frame: Tensor, builder: GraphBuilder): string {
  if (elementCount(weight.shape) === 1) return builder.weight(weight, undefined, []);
  const missing = frame.shape.length - weight.shape.length;
  if (missing < 0) throw new Error(`${node.op} ${node.name} has a constant of more dimensions than its other side`);
  const shape = [...Array.from({ length: missing }, () => 1), ...weight.shape];
  return builder.weight({ ...weight, shape }, frame.layout, inStoredOrder(frame.layout, shape));
}
