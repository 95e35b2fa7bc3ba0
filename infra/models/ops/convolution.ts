import { itemAt } from '../layout.js';
import type { GraphBuilder, Operand } from '../graph-builder.js';
import { textsAttribute, type GraphNode } from '../tfjs-graph.js';
import { activate } from './elementwise.js';
import { constantInput, tensorInput, type Operator } from './operator.js';
import { slide, slidingWindow } from './sliding-window.js';

/** A kernel of height, width, inputs, outputs becomes one of outputs, inputs, height, width. */
export const convolution: Operator = (node, inputs, builder) => {
  const kernel = constantInput(node, inputs, 1);
  const weights = builder.weight(kernel, [3, 2, 0, 1]);
  return [convolve(node, inputs, { weights, channels: itemAt(kernel.shape, 3), group: 1 }, builder)];
};

/** A kernel of height, width, channels, multiplier becomes one group per channel. */
export const depthwiseConvolution: Operator = (node, inputs, builder) => {
  const kernel = constantInput(node, inputs, 1);
  const [height = 0, width = 0, group = 0, multiplier = 0] = kernel.shape;
  const channels = group * multiplier;
  const weights = builder.weight(kernel, [2, 3, 0, 1], [channels, 1, height, width]);
  return [convolve(node, inputs, { weights, channels, group }, builder)];
};

function convolve(
  node: GraphNode,
  inputs: readonly Operand[],
  kernel: { weights: string; channels: number; group: number },
  builder: GraphBuilder,
): Operand {
  const source = tensorInput(node, inputs, 0);
  const size = constantInput(node, inputs, 1).shape.slice(0, 2);
  const window = slidingWindow(node, source, size, (value) => value === 0, builder);
  const fused = textsAttribute(node, 'fused_ops');
  const bias = fused.includes('BiasAdd') ? [builder.weight(constantInput(node, inputs, 2))] : [];
  const result = slide(builder, 'Conv', window, {
    inputs: [kernel.weights, ...bias],
    attributes: { group: kernel.group },
    batch: itemAt(source.shape, 0),
    channels: kernel.channels,
  });
  return activate(node, result, fused, builder);
}
