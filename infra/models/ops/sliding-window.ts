import { channelsFirst, itemAt } from '../layout.js';
import { derive, stored, type GraphBuilder, type Tensor } from '../graph-builder.js';
import { integersAttribute, textAttribute, type GraphNode } from '../tfjs-graph.js';

/** Elements added before and after one spatial axis. */
type Pads = readonly [before: number, after: number];

/** How a window of a convolution or a pool slides over height and width. */
export interface SlidingWindow {
  /** Attributes that Conv, MaxPool and AveragePool share. */
  readonly attributes: { readonly kernel_shape: number[]; readonly strides: number[]; readonly pads: number[] };
  /** Height and width of the result. */
  readonly size: readonly [number, number];
  /** The name of the input to slide over, channels first, without the padding that the window absorbed. */
  readonly input: string;
}

/**
 * Works out strides, pads and result size of a node with a `padding` attribute.
 * @param kernel height and width of the window
 * @param absorbs whether padding of this value may be left to the operator's own pads
 */
export function slidingWindow(
  node: GraphNode,
  source: Tensor,
  kernel: readonly number[],
  absorbs: (value: number) => boolean,
  builder: GraphBuilder,
): SlidingWindow {
  const format = textAttribute(node, 'data_format') ?? 'NHWC';
  if (format !== 'NHWC')
    throw new Error(`${node.op} ${node.name} has the data format ${format}, which is not converted here`);
  const absorbed = absorbablePads(source, absorbs);
  const base = absorbed === undefined ? source : withoutPadding(source);
  const input = stored(builder, base, channelsFirst).name;
  const strides = spatial(integersAttribute(node, 'strides'));
  const dilations = spatial(integersAttribute(node, 'dilations'));
  const own = strides.map((stride, axis) =>
    windowPads(node, itemAt(source.shape, axis + 1), itemAt(kernel, axis), stride, dilations[axis] ?? 1),
  );
  const pads = own.map(([before, after], axis): Pads => {
    const [extraBefore, extraAfter] = absorbed?.[axis] ?? [0, 0];
    return [before + extraBefore, after + extraAfter];
  });
  const [height = 0, width = 0] = strides.map((stride, axis) => {
    const [before, after] = itemAt(own, axis);
    const reach = (itemAt(kernel, axis) - 1) * (dilations[axis] ?? 1) + 1;
    return Math.floor((itemAt(source.shape, axis + 1) + before + after - reach) / stride) + 1;
  });
  const attributes = {
    kernel_shape: [...kernel],
    strides,
    pads: [...pads.map(([before]) => before), ...pads.map(([, after]) => after)],
    ...(dilations.some((dilation) => dilation !== 1) ? { dilations } : {}),
  };
  return { attributes, size: [height, width], input };
}

/** The result of a sliding operator as a tensor. */
export function slide(
  builder: GraphBuilder,
  op: string,
  window: SlidingWindow,
  rest: { inputs?: readonly string[]; attributes?: Readonly<Record<string, number>>; batch: number; channels: number },
): Tensor {
  const shape = [rest.batch, ...window.size, rest.channels];
  const attributes = { ...window.attributes, ...rest.attributes };
  return derive(builder, op, [window.input, ...(rest.inputs ?? [])], { shape, layout: channelsFirst }, attributes);
}

/**
 * TensorFlow's padding of one axis. SAME yields ceil(size / stride) results; where the pads cannot be equal, the extra
 * element goes to the end (tensorflow.org, tf.nn, "notes on padding").
 */
export function samePads(size: number, kernel: number, stride: number, dilation = 1): Pads {
  const results = Math.ceil(size / stride);
  const total = Math.max((results - 1) * stride + (kernel - 1) * dilation + 1 - size, 0);
  const before = Math.floor(total / 2);
  return [before, total - before];
}

function windowPads(node: GraphNode, size: number, kernel: number, stride: number, dilation: number): Pads {
  const padding = textAttribute(node, 'padding');
  if (padding === 'SAME') return samePads(size, kernel, stride, dilation);
  if (padding === 'VALID') return [0, 0];
  throw new Error(`${node.op} ${node.name} has the padding ${String(padding)}, which is not converted here`);
}

/** The spatial pads of a padded tensor, if the operator can do them itself. */
function absorbablePads(tensor: Tensor, absorbs: (value: number) => boolean): readonly Pads[] | undefined {
  if (tensor.padding === undefined || !absorbs(tensor.padding.value)) return undefined;
  const [batch, height, width, channels] = tensor.padding.amounts;
  const none = (pads: Pads | undefined): boolean => pads?.[0] === 0 && pads[1] === 0;
  if (height === undefined || width === undefined || !none(batch) || !none(channels)) return undefined;
  return [height, width];
}

function withoutPadding(tensor: Tensor): Tensor {
  return { kind: 'tensor', name: tensor.name, shape: tensor.shape, layout: tensor.layout };
}

/** Height and width of a list over N, H, W, C. */
function spatial(perAxis: readonly number[]): number[] {
  return perAxis.slice(1, 3);
}
