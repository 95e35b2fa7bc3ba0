import sharp from 'sharp';

/**
 * A photo as a JPEG of at most so many bytes, and not much less: the best quality that fits.
 * @param width pixels that it is scaled to
 * @throws Error where even the least quality has more bytes
 */
export async function jpegOfSize(photo: string, width: number, mostBytes: number): Promise<Buffer<ArrayBuffer>> {
  const scaled = await sharp(photo).resize({ width }).png({ compressionLevel: 0 }).toBuffer();
  for (let quality = 100; quality > 0; quality -= 1) {
    const jpeg = await sharp(scaled).jpeg({ quality }).toBuffer();
    if (jpeg.length <= mostBytes) return Buffer.from(jpeg);
  }
  throw new Error(`${photo} does not fit into ${String(mostBytes)} bytes`);
}
