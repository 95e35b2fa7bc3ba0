import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { openDevice, type Device } from '../../../backend/model/session.js';
import {
  convertSmall,
  distanceToTfjs,
  integers,
  integerWeight,
  text,
  texts,
  weight,
  type SmallNode,
} from './small-graph.js';
import { startTfjs } from './tfjs-reference.js';

const tolerance = 2e-3; // of sums of some dozens of products of 0…255

let device: Device;

before(async () => {
  await startTfjs('cpu');
  device = openDevice({ kind: 'cpu', threads: 1 });
});

after(() => device.close());

const window = (padding: string, stride: number, dilation = 1): Record<string, object> => ({
  padding: text(padding),
  strides: integers(1, stride, stride, 1),
  dilations: integers(1, dilation, dilation, 1),
  data_format: text('NHWC'),
});

describe('SAME padding puts the extra pixel where TensorFlow puts it', () => {
  for (const size of [7, 8]) {
    for (const kernel of [2, 3]) {
      for (const stride of [1, 2, 3]) {
        test(`size ${String(size)}, kernel ${String(kernel)}, stride ${String(stride)}`, async () => {
          const nodes = [{ name: 'output', op: 'Conv2D', input: ['input', 'kernel'], attr: window('SAME', stride) }];
          const graph = { nodes, weights: [weight('kernel', kernel, kernel, 3, 4)] };
          assert.ok((await distanceToTfjs(device, graph, [size, size + 1])) <= tolerance);
        });
      }
    }
  }
  test('with a dilation', async () => {
    const nodes = [{ name: 'output', op: 'Conv2D', input: ['input', 'kernel'], attr: window('SAME', 1, 2) }];
    assert.ok((await distanceToTfjs(device, { nodes, weights: [weight('kernel', 3, 3, 3, 4)] }, [9, 8])) <= tolerance);
  });
});

test('a depthwise kernel with a multiplier keeps its channels apart', async () => {
  const attr = { ...window('SAME', 2), num_args: { i: '1' }, fused_ops: texts('BiasAdd', 'Relu6') };
  const nodes = [{ name: 'output', op: 'FusedDepthwiseConv2dNative', input: ['scaled', 'kernel', 'bias'], attr }];
  const scale: SmallNode = { name: 'scaled', op: 'Mul', input: ['input', 'factor'] };
  const weights = [
    weight('kernel', 3, 3, 3, 2),
    weight('bias', 6),
    { ...weight('factor'), values: Float32Array.of(0.01) },
  ];
  assert.ok((await distanceToTfjs(device, { nodes: [scale, ...nodes], weights }, [8, 7])) <= tolerance);
});

test('weights stored as uint8 and float16 stand for the numbers that TFJS reads', async () => {
  const half = Uint16Array.from({ length: 4 }, (_, index) => 0x3c00 + 77 * index); // 1, 1.075, …
  const weights = [
    {
      name: 'kernel',
      shape: [1, 1, 3, 4],
      values: Uint8Array.from({ length: 12 }, (_, index) => index * 20),
      quantization: { dtype: 'uint8', scale: 0.01, min: -1.25 } as const,
    },
    { name: 'bias', shape: [4], values: half, quantization: { dtype: 'float16' } as const },
  ];
  const attr = { ...window('VALID', 1), num_args: { i: '1' }, fused_ops: texts('BiasAdd') };
  const nodes = [{ name: 'output', op: '_FusedConv2D', input: ['input', 'kernel', 'bias'], attr }];
  assert.ok((await distanceToTfjs(device, { nodes, weights }, [4, 4])) <= tolerance);
});

const toChannelsFirst = integerWeight('nchw', [0, 3, 1, 2]);
const toChannelsLast = integerWeight('nhwc', [0, 2, 3, 1]);
const edges = integerWeight('edges', [0, 0, 0, 0, 1, 1, 2, 0], [4, 2]);

test('transposes and pads around convolutions and pools compose to the same values', async () => {
  const nodes: SmallNode[] = [
    { name: 'first', op: 'Transpose', input: ['input', 'nchw'] },
    { name: 'padded', op: 'Pad', input: ['first', 'edges'] },
    { name: 'last', op: 'Transpose', input: ['padded', 'nhwc'] },
    { name: 'convolved', op: 'Conv2D', input: ['last', 'kernel'], attr: window('VALID', 1) },
    { name: 'biased', op: 'Add', input: ['convolved', 'bias'] },
    { name: 'turned', op: 'Transpose', input: ['biased', 'nchw'] },
    { name: 'leaky', op: 'LeakyRelu', input: ['turned'], attr: { alpha: { f: 0.1 } } },
    { name: 'lowered', op: 'PadV2', input: ['leaky', 'edges', 'lowest'] },
    { name: 'back', op: 'Transpose', input: ['lowered', 'nhwc'] },
    { name: 'pooled', op: 'MaxPool', input: ['back'], attr: { ...window('VALID', 2), ksize: integers(1, 3, 3, 1) } },
    { name: 'output', op: 'Transpose', input: ['pooled', 'nchw'] },
  ];
  const lowest = { ...weight('lowest'), values: Float32Array.of(-Infinity) };
  const weights = [toChannelsFirst, toChannelsLast, edges, weight('kernel', 3, 3, 3, 5), weight('bias', 5), lowest];
  assert.ok((await distanceToTfjs(device, { nodes, weights }, [9, 8])) <= tolerance);
});

test('a pad that its operator cannot absorb is done for real', async () => {
  const nodes: SmallNode[] = [
    { name: 'padded', op: 'Pad', input: ['input', 'edges'] },
    { name: 'output', op: 'AvgPool', input: ['padded'], attr: { ...window('SAME', 2), ksize: integers(1, 2, 2, 1) } },
  ];
  const around = integerWeight('edges', [0, 0, 1, 2, 0, 1, 0, 0], [4, 2]);
  assert.ok((await distanceToTfjs(device, { nodes, weights: [around] }, [6, 6])) <= tolerance);
});

for (const corners of [{ half_pixel_centers: { b: true } }, { align_corners: { b: true } }, {}]) {
  test(`a bilinear resize samples where TensorFlow does: ${Object.keys(corners)[0] ?? 'plain'}`, async () => {
    const nodes = [{ name: 'output', op: 'ResizeBilinear', input: ['input', 'size'], attr: corners }];
    assert.ok(
      (await distanceToTfjs(device, { nodes, weights: [integerWeight('size', [12, 18])] }, [6, 8])) <= tolerance,
    );
  });
}

test('split, concatenation and a reshape with a batch of 1 written into it serve any batch', async () => {
  const nodes: SmallNode[] = [
    { name: 'first', op: 'Transpose', input: ['input', 'nchw'] },
    { name: 'parts', op: 'SplitV', input: ['first', 'sizes', 'axis'], attr: { num_split: { i: '2' } } },
    { name: 'joined', op: 'ConcatV2', input: ['parts:1', 'parts', 'axis'], attr: { N: { i: '2' } } },
    { name: 'shape', op: 'AddV2', input: ['target', 'zeros'] },
    { name: 'flat', op: 'Reshape', input: ['joined', 'shape'] },
    { name: 'output', op: 'Transpose', input: ['flat', 'swap'] },
  ];
  const weights = [
    toChannelsFirst,
    integerWeight('sizes', [1, 2]),
    integerWeight('axis', [1], []),
    integerWeight('swap', [0, 2, 1]),
  ];
  const shapes = [integerWeight('target', [1, 3, -1]), integerWeight('zeros', [0, 0, 0])];
  assert.ok((await distanceToTfjs(device, { nodes, weights: [...weights, ...shapes] }, [5, 4], 3)) <= tolerance);
});

test('an operator that is not known is named', () => {
  const nodes = [{ name: 'output', op: 'FancyNewOp', input: ['input'] }];
  assert.throws(() => convertSmall({ nodes, weights: [] }, 4, 4), /FancyNewOp \(node output\)/);
});

test('an activation that is not known is named', () => {
  const attr = { ...window('VALID', 1), fused_ops: texts('Mish') };
  const nodes = [{ name: 'output', op: '_FusedConv2D', input: ['input', 'kernel'], attr }];
  assert.throws(() => convertSmall({ nodes, weights: [weight('kernel', 1, 1, 3, 3)] }, 4, 4), /Mish/);
});

test('a reshape that mixes images of a batch is refused', () => {
  const nodes = [{ name: 'output', op: 'Reshape', input: ['input', 'target'] }];
  assert.throws(
    () => convertSmall({ nodes, weights: [integerWeight('target', [2, -1])] }, 4, 4),
    /does not keep the batch apart/,
  );
});

test('a weight file that is too short is refused by the name of the weight', () => {
  const short = { ...weight('kernel', 3, 3, 3, 4), values: new Float32Array(5) };
  const nodes = [{ name: 'output', op: 'Conv2D', input: ['input', 'kernel'], attr: window('SAME', 1) }];
  assert.throws(() => convertSmall({ nodes, weights: [short] }, 4, 4), /end within kernel/);
});
