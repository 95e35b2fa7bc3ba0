import type { Buffer } from 'node:buffer';
import type { Size } from './fixed-header-sizes.js';

/** More segments before the frame header than any camera writes; bounds the walk. */
const mostSegments = 20_000;
const startOfScan = 0xda;
const endOfImage = 0xd9;

/** JPEG: walks the segments up to the frame header (ITU-T T.81, B.1.1 and B.2.2), reading none of their contents. */
export function jpegSize(image: Buffer): Size | undefined {
  let at = 2;
  for (let segments = 0; segments < mostSegments; segments += 1) {
    // Decoders pass over stray bytes between segments, so it is done here too.
    at = image.indexOf(0xff, at);
    if (at < 0) return undefined;
    while (image[at] === 0xff) at += 1;
    const marker = image[at];
    if (marker === undefined || marker === startOfScan || marker === endOfImage) return undefined;
    at += 1;
    if (isFrameHeader(marker)) return { height: image.readUInt16BE(at + 3), width: image.readUInt16BE(at + 5) };
    if (hasLength(marker)) at += Math.max(2, image.readUInt16BE(at));
  }
  return undefined;
}

/** C0 to CF, except for the three that hold tables. */
function isFrameHeader(marker: number): boolean {
  return marker >= 0xc0 && marker <= 0xcf && marker !== 0xc4 && marker !== 0xc8 && marker !== 0xcc;
}

/** A stuffed zero, TEM and the restart markers stand alone. */
function hasLength(marker: number): boolean {
  return marker > 0x01 && (marker < 0xd0 || marker > 0xd8);
}
