import type { ModelManifest } from '../../../contracts/model.js';
import type { Params } from '../../../contracts/params.js';
import type { Predictions } from '../../../contracts/prediction.js';
import type { DecodedImage, RawOutput } from '../model.js';
import { classify } from './classify.js';
import { detect } from './detect.js';
import { tag } from './tag.js';

export type Predictor = (raw: RawOutput, image: DecodedImage, params: Params) => Predictions;

/**
 * What turns a model's raw outputs into predictions.
 * @throws Error if the manifest's outputs or labels are not what its task needs
 */
export function predictorFor(manifest: ModelManifest): Predictor {
  const { task, labels } = manifest;
  switch (task) {
    case 'classify':
    case 'tag': {
      const output = soleOutput(manifest, [labels.length]);
      const judge = task === 'classify' ? classify : tag;
      return (raw, _image, params) => judge(valuesOf(raw, output), labels, params);
    }
    case 'detect':
      expectDetectorOutputs(manifest);
      return (raw, image, params) =>
        detect({ scores: valuesOf(raw, 'scores'), boxes: valuesOf(raw, 'boxes') }, manifest, image, params);
    case 'embed': {
      const output = soleOutput(manifest, manifest.outputs[0]?.shape ?? []);
      return (raw) => ({ vector: Array.from(valuesOf(raw, output)) });
    }
    case 'caption':
      throw new Error(
        `model ${manifest.name}: a caption needs more than one run of one session, which is not built yet`,
      );
  }
}

function soleOutput({ name, task, outputs }: ModelManifest, shape: readonly number[]): string {
  const [output] = outputs;
  if (outputs.length === 1 && output?.shape.join() === shape.join()) return output.name;
  throw new Error(
    `model ${name}: task ${task} needs one output of shape [${shape.join()}], the manifest names ${describe(outputs)}`,
  );
}

function expectDetectorOutputs({ name, labels, outputs }: ModelManifest): void {
  const scores = outputs.find((output) => output.name === 'scores')?.shape ?? [];
  const boxes = outputs.find((output) => output.name === 'boxes')?.shape ?? [];
  if (scores.length === 2 && scores[1] === labels.length && boxes.join() === [scores[0], 4].join()) return;
  const wanted = `scores [candidates,${String(labels.length)}] and boxes [candidates,4]`;
  throw new Error(`model ${name}: task detect needs the outputs ${wanted}, the manifest names ${describe(outputs)}`);
}

function describe(outputs: ModelManifest['outputs']): string {
  return outputs.map((output) => `${output.name} [${output.shape.join()}]`).join(', ');
}

function valuesOf(raw: RawOutput, output: string): Float32Array {
  const values = raw[output];
  if (values === undefined) throw new Error(`the run answered no output ${output}`);
  return values;
}
