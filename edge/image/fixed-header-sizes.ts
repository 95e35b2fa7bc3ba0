import type { Buffer } from 'node:buffer';

/** Width and height in pixels, as a header tells them. */
export interface Size {
  readonly width: number;
  readonly height: number;
}

/** PNG: the first chunk must be IHDR, which begins with both (ISO/IEC 15948, 11.2.2). */
export function pngSize(image: Buffer): Size | undefined {
  if (image.toString('latin1', 12, 16) !== 'IHDR') return undefined;
  return { width: image.readUInt32BE(16), height: image.readUInt32BE(20) };
}

/** GIF: the logical screen that every frame is laid on. */
export function gifSize(image: Buffer): Size {
  return { width: image.readUInt16LE(6), height: image.readUInt16LE(8) };
}

/** WebP: a lossy, a lossless or an extended header behind the RIFF header (RFC 9649, 2.5 to 2.7). */
export function webpSize(image: Buffer): Size | undefined {
  const chunk = image.toString('latin1', 12, 16);
  if (chunk === 'VP8X') return { width: image.readUIntLE(24, 3) + 1, height: image.readUIntLE(27, 3) + 1 };
  if (chunk === 'VP8 ' && image.readUIntBE(23, 3) === 0x9d012a) {
    return { width: image.readUInt16LE(26) & 0x3fff, height: image.readUInt16LE(28) & 0x3fff };
  }
  if (chunk === 'VP8L' && image[20] === 0x2f) {
    const bits = image.readUInt32LE(21);
    return { width: (bits & 0x3fff) + 1, height: ((bits >>> 14) & 0x3fff) + 1 };
  }
  return undefined;
}
