import { integerConstant, knownIntegers, knownNumber } from '../constants.js';
import { itemAt, plainLayout, storedAxis, transposedLayout, withoutAxes } from '../layout.js';
import { batchSize, derive, stored, type Tensor } from '../graph-builder.js';
import { elementCount, integersAttribute, type GraphNode } from '../tfjs-graph.js';
import { tensorInput, type Operator } from './operator.js';

/** Only the layout changes; nothing moves until an operator needs another order. */
export const transpose: Operator = (node, inputs) => {
  const source = tensorInput(node, inputs, 0);
  const permutation = knownIntegers(inputs[1], `the permutation of ${node.name}`);
  const shape = permutation.map((axis) => itemAt(source.shape, axis));
  const turned: Tensor = { ...source, shape, layout: transposedLayout(source.layout, permutation) };
  if (source.padding === undefined) return [turned];
  const amounts = permutation.map((axis) => itemAt(source.padding?.amounts ?? [], axis));
  return [{ ...turned, padding: { amounts, value: source.padding.value } }];
};

/** Pad and PadV2 (which names its value): kept aside for a convolution or a pool to absorb. */
export const pad: Operator = (node, inputs, builder) => {
  const source = stored(builder, tensorInput(node, inputs, 0));
  const flat = knownIntegers(inputs[1], `the padding of ${node.name}`);
  const value = inputs.length > 2 ? knownNumber(inputs[2], `the padding value of ${node.name}`) : 0;
  const amounts = source.shape.map((_, axis): [number, number] => [itemAt(flat, 2 * axis), itemAt(flat, 2 * axis + 1)]);
  const shape = source.shape.map((size, axis) => {
    const [before, after] = itemAt(amounts, axis);
    if (size === batchSize && before + after > 0) throw new Error(`${node.op} ${node.name} pads the batch`);
    return size + before + after;
  });
  return [{ ...source, shape, padding: { amounts, value } }];
};

export const concatenate: Operator = (node, inputs, builder) => {
  const parts = inputs.slice(0, -1).map((_, index) => tensorInput(node, inputs, index));
  const [axis = 0] = knownIntegers(inputs.at(-1), `the axis of ${node.name}`);
  const first = itemAt(parts, 0);
  const logical = axis < 0 ? axis + first.shape.length : axis;
  const total = parts.reduce((sum, part) => sum + itemAt(part.shape, logical), 0);
  const shape = first.shape.map((size, index) => (index === logical ? total : size));
  const names = parts.map((part) => stored(builder, part, first.layout).name);
  return [
    derive(builder, 'Concat', names, { shape, layout: first.layout }, { axis: storedAxis(first.layout, logical) }),
  ];
};

export const split: Operator = (node, inputs, builder) => {
  const source = stored(builder, tensorInput(node, inputs, 0));
  const sizes = knownIntegers(inputs[1], `the sizes of ${node.name}`);
  const [axis = 0] = knownIntegers(inputs[2], `the axis of ${node.name}`);
  const logical = axis < 0 ? axis + source.shape.length : axis;
  const stops = builder.integers(sizes);
  const names = builder.node('Split', [source.name, stops], { axis: storedAxis(source.layout, logical) }, sizes.length);
  return sizes.map((size, part) => ({
    kind: 'tensor',
    name: itemAt(names, part),
    shape: source.shape.map((whole, index) => (index === logical ? size : whole)),
    layout: source.layout,
  }));
};

export const squeeze: Operator = (node, inputs, builder) => {
  const source = stored(builder, tensorInput(node, inputs, 0));
  const axes = integersAttribute(node, 'squeeze_dims');
  const storedAxes = builder.integers(axes.map((axis) => storedAxis(source.layout, axis)));
  const shape = source.shape.filter((_, axis) => !axes.includes(axis));
  return [derive(builder, 'Squeeze', [source.name, storedAxes], { shape, layout: withoutAxes(source.layout, axes) })];
};

export const reshape: Operator = (node, inputs, builder) => {
  const source = tensorInput(node, inputs, 0);
  const shape = batchedShape(node, source.shape, knownIntegers(inputs[1], `the shape of ${node.name}`));
  const input = stored(builder, source, plainLayout(source.shape.length));
  // ONNX copies a dimension that is given as 0, so that the batch may have any size.
  const target = builder.integers([0, ...shape.slice(1)]);
  return [derive(builder, 'Reshape', [input.name, target], { shape, layout: plainLayout(shape.length) })];
};

/** What a target shape means for any batch: sources often write the batch of 1 into it that they were exported with. */
function batchedShape(node: GraphNode, shape: readonly number[], target: readonly number[]): number[] {
  const [first, ...rest] = target;
  const perItem = elementCount(shape.slice(1));
  const known = elementCount(rest.filter((size) => size >= 0));
  const sizes = rest.map((size) => (size < 0 ? perItem / known : size));
  if (shape[0] !== batchSize || (first !== 1 && first !== -1) || elementCount(sizes) !== perItem) {
    throw new Error(`${node.op} ${node.name} to [${target.join()}] does not keep the batch apart`);
  }
  return [batchSize, ...sizes];
}

/** Known here only as the source uses it: without entries, a list of the default value. */
export const sparseToDense: Operator = (node, inputs) => {
  const [length = 0] = knownIntegers(inputs[1], `the shape of ${node.name}`);
  const entries = knownIntegers(inputs[2], `the values of ${node.name}`);
  const [fill = 0] = knownIntegers(inputs[3], `the default of ${node.name}`);
  if (entries.length > 0) throw new Error(`${node.op} ${node.name} has entries, which is not converted here`);
  return [
    integerConstant(
      node.name,
      [length],
      Array.from({ length }, () => fill),
    ),
  ];
};
