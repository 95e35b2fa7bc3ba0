import sharp, { type Sharp } from 'sharp';
import { Failure } from '../../contracts/failure.js';
import type { ModelManifest } from '../../contracts/model.js';
import { faultOf } from '../fault.js';
import type { DecodedImage } from './model.js';

/** Colour channels of every model's input. */
const channels = 3;

/**
 * Decodes an image into what a model's input wants, on libvips' own threads: upright by its EXIF orientation, laid over
 * the background where it is transparent, 8-bit sRGB whatever it was, the first frame of an animation.
 * @returns exactly width · height · 3 bytes of the model's input, and the size of the upright original
 * @throws Failure image_unreadable | image_too_large
 */
export async function decodeImage(
  image: Uint8Array,
  input: ModelManifest['input'],
  limitInputPixels: number,
): Promise<DecodedImage> {
  try {
    // 'error' refuses what is cut off or cannot be decoded, and lets pass what viewers show as well, such as stray bytes
    // between markers, which the default would refuse.
    const source = sharp(image, { limitInputPixels, failOn: 'error', sequentialRead: true, pages: 1 });
    // Both ask the same instance: a clone would copy the encoded image.
    const [pixels, { autoOrient }] = await Promise.all([modelPixels(source, input), source.metadata()]);
    if (pixels.length !== input.width * input.height * channels) {
      throw new Failure(
        'image_unreadable',
        `the image decodes to ${String(pixels.length)} bytes instead of red, green and blue`,
      );
    }
    return { pixels, width: autoOrient.width, height: autoOrient.height };
  } catch (error) {
    // Too little memory is no fault of the image.
    if (error instanceof Failure || faultOf(error) === 'device_memory') throw error;
    throw decodeFailure(error, limitInputPixels);
  }
}

function modelPixels(
  source: Sharp,
  { width, height, fit, kernel, background }: ModelManifest['input'],
): Promise<Buffer> {
  return source
    .autoOrient()
    .flatten({ background })
    .resize({ width, height, fit, kernel, background })
    .raw({ depth: 'uchar' })
    .toBuffer();
}

/** What libvips says is for its developers; people are told which of two things went wrong. */
function decodeFailure(cause: unknown, limitInputPixels: number): Failure {
  const reason = cause instanceof Error ? cause.message : '';
  if (reason.includes('pixel limit')) {
    return new Failure('image_too_large', `at most ${String(limitInputPixels)} pixels are allowed`, { cause });
  }
  return new Failure('image_unreadable', 'the data ends too early or does not follow its format', { cause });
}
