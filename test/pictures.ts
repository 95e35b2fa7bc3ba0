import sharp from 'sharp';

const small = await sharp({ create: { width: 16, height: 16, channels: 3, background: '#336699' } })
  .jpeg()
  .toBuffer();

/**
 * A valid JPEG whose bytes nobody else's are equal to: what follows a JPEG's end is not part of the picture, but of its
 * digests.
 */
export function picture(number: number | string, bytes = 0): Buffer<ArrayBuffer> {
  return Buffer.concat([small, Buffer.from(`#${String(number)}#`), Buffer.alloc(bytes)]);
}
