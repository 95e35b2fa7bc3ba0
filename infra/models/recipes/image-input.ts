import { channelsFirst } from '../layout.js';
import { batchSize, derive, type GraphBuilder, type Tensor } from '../graph-builder.js';
import { elementTypes, type OnnxPort } from '../onnx-writer.js';

/** How a network wants its pixels; per-channel values follow `order`. */
export interface PixelForm {
  readonly width: number;
  readonly height: number;
  readonly order: 'rgb' | 'bgr';
  /** Subtracted from 0…255. */
  readonly mean: readonly [number, number, number];
  /** Divided by afterwards. */
  readonly deviation: readonly [number, number, number];
}

/** The one input that every model has: uint8 [N,height,width,3], red first, row by row. */
export function imagePort(form: PixelForm): OnnxPort {
  return { name: 'image', type: 'uint8', dims: [batchSize, form.height, form.width, 3] };
}

/**
 * The beginning of every graph: from the image port to normalised float32, stored channels first.
 * Transposing and reordering come first, while a pixel is still three bytes.
 * @returns a tensor whose logical shape is [N,height,width,3]
 */
export function normalisedImage(builder: GraphBuilder, form: PixelForm): Tensor {
  const [planes = ''] = builder.node('Transpose', [imagePort(form).name], { perm: channelsFirst });
  const ordered = form.order === 'rgb' ? planes : reversedChannels(builder, planes);
  const [floats = ''] = builder.node('Cast', [ordered], { to: elementTypes.float32 });
  const centred = form.mean.every((mean) => mean === 0) ? floats : perChannel(builder, 'Sub', floats, form.mean);
  const factors = builder.floats(
    form.deviation.map((deviation) => 1 / deviation),
    [1, 3, 1, 1],
  );
  const shape = [batchSize, form.height, form.width, 3];
  return derive(builder, 'Mul', [centred, factors], { shape, layout: channelsFirst });
}

function reversedChannels(builder: GraphBuilder, planes: string): string {
  const [reversed = ''] = builder.node('Gather', [planes, builder.integers([2, 1, 0])], { axis: 1 });
  return reversed;
}

function perChannel(builder: GraphBuilder, op: string, input: string, values: readonly number[]): string {
  const [result = ''] = builder.node(op, [input, builder.floats(values, [1, 3, 1, 1])]);
  return result;
}
