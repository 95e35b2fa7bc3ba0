import { dirname, join } from 'node:path';
import * as z from 'zod';
import { convertGraph } from '../convert.js';
import { createGraphBuilder, stored } from '../graph-builder.js';
import { itemAt } from '../layout.js';
import { packageFile, packageModule, packageVersion } from '../packages.js';
import { readTfjsGraph, type TfjsGraph } from '../tfjs-graph.js';
import { imagePort, normalisedImage, type PixelForm } from './image-input.js';
import { originOf, type Recipe } from './recipe.js';

const specifier = 'nsfwjs/models/mobilenet_v2_mid';

/** The package feeds red, green, blue from 0 to 1; the graph itself rescales them to −1…1. */
const pixels: PixelForm = { width: 224, height: 224, order: 'rgb', mean: [0, 0, 0], deviation: [255, 255, 255] };

const labels = ['Drawing', 'Hentai', 'Neutral', 'Porn', 'Sexy'];

/** Moderation with MobileNet v2 from nsfwjs: five probabilities. */
export const nsfwRecipe: Recipe = {
  manifest: {
    name: 'nsfw',
    version: '1',
    task: 'classify',
    description: 'Moderation: how likely an image is a drawing, hentai, neutral, pornographic or sexy.',
    // Of sharp's kernels the nearest to the package's own bilinear sampling; README.md has the figures.
    input: {
      name: 'image',
      width: 224,
      height: 224,
      fit: 'fill',
      kernel: 'nearest',
      colour: 'srgb',
      background: '#ffffff',
    },
    outputs: [{ name: 'probabilities', shape: [labels.length] }],
    labels,
    thresholds: { top: labels.length, minScore: 0 },
    batch: {
      cpu: { max: 8, maxWaitMs: 0 },
      cuda: { max: 32, maxWaitMs: 0 },
      webgpu: { max: 16, maxWaitMs: 0 },
      simulated: { max: 32, maxWaitMs: 0 },
    },
    runLimitMs: 30_000,
    licence: 'MIT',
    origin: originOf('nsfwjs', packageVersion('nsfwjs', specifier), 'mobilenet_v2_mid'),
  },
  build: () => {
    const builder = createGraphBuilder();
    const outputs = convertGraph(readNsfwGraph(), { input: normalisedImage(builder, pixels) }, ['Identity'], builder);
    builder.output(stored(builder, itemAt(outputs, 0), [0, 1]), 'probabilities');
    return builder.finish('nsfw', imagePort(pixels));
  },
};

/** The package bundles its files as scripts: model.json as an object, the weights as base64. */
function readNsfwGraph(): TfjsGraph {
  const folder = join(dirname(packageFile(specifier)), '../../models/mobilenet_v2_mid');
  const bundle = (file: string): unknown => packageModule(join(folder, `${file}.min.js`));
  return readTfjsGraph(bundle('model'), (path) => Buffer.from(z.string().parse(bundle(path)), 'base64'));
}
