import { itemAt } from '../layout.js';
import { integersAttribute } from '../tfjs-graph.js';
import { tensorInput, type Operator } from './operator.js';
import { slide, slidingWindow } from './sliding-window.js';

/** ONNX's maximum ignores its own pads, which is what padding with −∞ amounts to. */
export const maxPool: Operator = pool('MaxPool', {}, (value) => value === -Infinity);

/** TensorFlow's mean leaves SAME padding out of the count, as ONNX does by default; zeros of a Pad would count. */
export const averagePool: Operator = pool('AveragePool', { count_include_pad: 0 }, () => false);

function pool(op: string, attributes: Readonly<Record<string, number>>, absorbs: (value: number) => boolean): Operator {
  return (node, inputs, builder) => {
    const source = tensorInput(node, inputs, 0);
    const kernel = integersAttribute(node, 'ksize').slice(1, 3);
    const window = slidingWindow(node, source, kernel, absorbs, builder);
    return [
      slide(builder, op, window, { attributes, batch: itemAt(source.shape, 0), channels: itemAt(source.shape, 3) }),
    ];
  };
}
