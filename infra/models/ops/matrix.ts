import { itemAt } from '../layout.js';
import { derive, stored } from '../graph-builder.js';
import { textsAttribute } from '../tfjs-graph.js';
import { activate } from './elementwise.js';
import { constantInput, tensorInput, type Operator } from './operator.js';

/** A dense layer: [N, inputs] times a known [inputs, outputs], with a bias where one is fused in. */
export const matrixProduct: Operator = (node, inputs, builder) => {
  const source = tensorInput(node, inputs, 0);
  const matrix = constantInput(node, inputs, 1);
  if (node.attr['transpose_a']?.b === true || node.attr['transpose_b']?.b === true || source.shape.length !== 2) {
    throw new Error(`${node.op} ${node.name} transposes or has more than two dimensions, which is not converted here`);
  }
  const fused = textsAttribute(node, 'fused_ops');
  const bias = fused.includes('BiasAdd') ? [builder.weight(constantInput(node, inputs, 2))] : [];
  const result = { shape: [itemAt(source.shape, 0), itemAt(matrix.shape, 1)], layout: [0, 1] };
  const product = derive(
    builder,
    'Gemm',
    [stored(builder, source, [0, 1]).name, builder.weight(matrix), ...bias],
    result,
  );
  return [activate(node, product, fused, builder)];
};
