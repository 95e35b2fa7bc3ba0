import { convolution, depthwiseConvolution } from './convolution.js';
import { add, leakyRelu, multiply, passOn, sigmoid, softmax, subtract } from './elementwise.js';
import { matrixProduct } from './matrix.js';
import type { Operator } from './operator.js';
import { averagePool, maxPool } from './pooling.js';
import { resizeBilinear } from './resize.js';
import { concatenate, pad, reshape, sparseToDense, split, squeeze, transpose } from './shape.js';

/** Every TensorFlow operator that is converted, by its name in the source graph. */
export const operators: ReadonlyMap<string, Operator> = new Map([
  ['Add', add],
  ['AddV2', add],
  ['AvgPool', averagePool],
  ['ConcatV2', concatenate],
  ['Conv2D', convolution],
  ['FusedDepthwiseConv2dNative', depthwiseConvolution],
  ['Identity', passOn],
  ['LeakyRelu', leakyRelu],
  ['MaxPool', maxPool],
  ['Mul', multiply],
  ['Pad', pad],
  ['PadV2', pad],
  ['Reshape', reshape],
  ['ResizeBilinear', resizeBilinear],
  ['Sigmoid', sigmoid],
  ['Softmax', softmax],
  ['SparseToDense', sparseToDense],
  ['SplitV', split],
  ['Squeeze', squeeze],
  ['Sub', subtract],
  ['Transpose', transpose],
  ['_FusedConv2D', convolution],
  ['_FusedMatMul', matrixProduct],
]);
