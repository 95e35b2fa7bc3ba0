import { batchLimitFor, type DeviceKind, type ModelManifest } from '../../contracts/model.js';
import type { DecodedImage, Model, RawOutput } from './model.js';
import { predictorFor } from './postprocess/predictor.js';
import { decodeImage } from './preprocess.js';
import type { Session } from './session.js';

/**
 * A model on a real device.
 * @param session a session of this manifest's graph, checked by load.ts
 * @param limitInputPixels the most pixels that an image may have before it is decoded
 * @throws Error if the manifest's outputs are not what its task needs
 */
export function onnxModel(
  session: Session,
  device: DeviceKind,
  manifest: ModelManifest,
  limitInputPixels: number,
): Model {
  const predict = predictorFor(manifest);
  const { width, height } = manifest.input;
  const imageBytes = width * height * 3;
  const { max } = batchLimitFor(manifest, device);
  // The worker hands the buffer back with the outputs, so one serves every run; pages that are never written cost nothing.
  let spare: ArrayBuffer | undefined;

  const infer = async (images: readonly DecodedImage[]): Promise<readonly RawOutput[]> => {
    if (images.length < 1 || images.length > max) {
      throw new Error(
        `model ${manifest.name} takes 1 to ${String(max)} images on ${device}, not ${String(images.length)}`,
      );
    }
    const batch = spare ?? new ArrayBuffer(max * imageBytes);
    spare = undefined;
    fillBatch(new Uint8Array(batch), images, imageBytes);
    const { outputs, input } = await session.run(batch, [images.length, height, width, 3]);
    spare = input;
    return images.map((_, index) => shareOf(outputs, index, images.length));
  };

  const blank = (): DecodedImage => ({ pixels: new Uint8Array(imageBytes), width, height });
  return {
    manifest,
    device,
    decode: (image) => decodeImage(image, manifest.input, limitInputPixels),
    infer,
    predict,
    warmUp: async () => {
      await infer(Array.from({ length: max }, blank));
    },
    canary: async () => {
      await infer([blank()]);
    },
    release: () => session.release(),
  };
}

/** The one copy that an image's pixels take on their way to the device. */
function fillBatch(batch: Uint8Array, images: readonly DecodedImage[], imageBytes: number): void {
  images.forEach(({ pixels }, index) => {
    if (pixels.length !== imageBytes)
      throw new Error(`an image of ${String(pixels.length)} bytes instead of ${String(imageBytes)}`);
    batch.set(pixels, index * imageBytes);
  });
}

/** Views of one image's part of the outputs; nothing is copied. */
function shareOf(outputs: Readonly<Record<string, Float32Array>>, index: number, batchSize: number): RawOutput {
  const share = Object.entries(outputs).map(([name, values]) => {
    const length = values.length / batchSize;
    return [name, values.subarray(index * length, (index + 1) * length)] as const;
  });
  return Object.fromEntries(share);
}
