import type { ModelManifest, DeviceKind } from '../../contracts/model.js';
import type { Params } from '../../contracts/params.js';
import type { Predictions } from '../../contracts/prediction.js';

/** An image as the model's input wants it, and the size of the upright original that boxes refer to. */
export interface DecodedImage {
  /** uint8, height × width × 3 of the model's input, row by row. */
  readonly pixels: Uint8Array;
  /** Width of the upright original in pixels. */
  readonly width: number;
  /** Height of the upright original in pixels. */
  readonly height: number;
}

/** One image's share of a run's outputs, by output name, without the batch dimension. */
export type RawOutput = Readonly<Record<string, Float32Array>>;

/** What is expensive and pluggable: an ONNX session on a real device, or a simulated device. */
export interface Model {
  readonly manifest: ModelManifest;
  readonly device: DeviceKind;
  /** Encoded bytes to pixels, off the main thread. @throws Failure image_unreadable | image_too_large */
  decode(image: Uint8Array): Promise<DecodedImage>;
  /** Runs one batch of 1 to the device's limit; answers one raw output per image, in order. Never two at once per device. */
  infer(images: readonly DecodedImage[]): Promise<readonly RawOutput[]>;
  /** Pure: what one raw output says about its image. */
  predict(raw: RawOutput, image: DecodedImage, params: Params): Predictions;
  /** Runs the largest batch once, so that no caller pays for the first run. */
  warmUp(): Promise<void>;
  /** Runs one blank image: whether the device still does what it should. Like `infer`, never beside another run. */
  canary(): Promise<void>;
  /** Awaits a run in flight, then frees the session. */
  release(): Promise<void>;
}
