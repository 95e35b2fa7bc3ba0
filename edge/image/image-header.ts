import type { Buffer } from 'node:buffer';
import { Failure } from '../../contracts/failure.js';
import { avifSize } from './avif-size.js';
import { gifSize, pngSize, webpSize, type Size } from './fixed-header-sizes.js';
import { imageTypeOf, imageTypes, type ImageType } from './image-type.js';
import { jpegSize } from './jpeg-size.js';
import { tiffSize } from './tiff-size.js';

export interface ImageHeader extends Size {
  readonly type: ImageType;
}

const sizeOf: Readonly<Record<ImageType, (image: Buffer) => Size | undefined>> = {
  jpeg: jpegSize,
  png: pngSize,
  webp: webpSize,
  gif: gifSize,
  avif: avifSize,
  tiff: tiffSize,
};

/**
 * What an image says about itself, without decoding it: type by its first bytes, width and height from its header. Each
 * reader visits a bounded number of places and never looks outside the image, whatever is written in it.
 * @throws Failure unsupported_image | image_unreadable | image_too_large
 */
export function readImageHeader(image: Buffer, maxPixels: number): ImageHeader {
  const type = imageTypeOf(image);
  if (!type) throw new Failure('unsupported_image', `read are ${imageTypes.join(', ')}`);
  const size = readSize(type, image);
  if (!size || !(size.width > 0) || !(size.height > 0)) {
    throw new Failure('image_unreadable', `the ${type} header gives no width and height`);
  }
  const { width, height } = size;
  if (width * height > maxPixels) {
    throw new Failure('image_too_large', `${width} × ${height} is ${width * height} pixels, allowed are ${maxPixels}`);
  }
  return { type, width, height };
}

function readSize(type: ImageType, image: Buffer): Size | undefined {
  try {
    return sizeOf[type](image);
  } catch (error) {
    // A read beyond the end: the header is cut short, or points out of the file.
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
