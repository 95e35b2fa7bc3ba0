import type { Buffer } from 'node:buffer';
import type { Size } from './fixed-header-sizes.js';

interface Box {
  readonly type: string;
  /** Where its contents begin and end. */
  readonly start: number;
  readonly end: number;
}

/** More boxes on one level than any picture has; bounds the walk. */
const mostBoxes = 4096;

/**
 * AVIF: the largest spatial extent among the item properties (ISO/IEC 23008-12, 6.5.3): the picture itself, since its
 * tiles, its thumbnail and its alpha plane are not larger.
 */
export function avifSize(image: Buffer): Size | undefined {
  const meta = child(image, { type: 'file', start: 0, end: image.length }, 'meta');
  // The contents of meta begin with a version and flags, those of an extent too.
  const properties = meta && child(image, { ...meta, start: meta.start + 4 }, 'iprp');
  const container = properties && child(image, properties, 'ipco');
  if (!container) return undefined;
  let largest: Size | undefined;
  for (const box of boxes(image, container)) {
    if (box.type !== 'ispe') continue;
    const size = { width: image.readUInt32BE(box.start + 4), height: image.readUInt32BE(box.start + 8) };
    if (!largest || size.width * size.height > largest.width * largest.height) largest = size;
  }
  return largest;
}

function child(image: Buffer, parent: Box, type: string): Box | undefined {
  for (const box of boxes(image, parent)) if (box.type === type) return box;
  return undefined;
}

/** The boxes inside a box, one after the other; each has a length and a type (ISO/IEC 14496-12, 4.2). */
function* boxes(image: Buffer, parent: Box): Generator<Box> {
  let at = parent.start;
  for (let count = 0; count < mostBoxes && at + 8 <= parent.end; count += 1) {
    const short = image.readUInt32BE(at);
    const header = short === 1 ? 16 : 8;
    const length = short === 1 ? Number(image.readBigUInt64BE(at + 8)) : short === 0 ? parent.end - at : short;
    if (length < header || at + length > parent.end) return;
    yield { type: image.toString('latin1', at + 4, at + 8), start: at + header, end: at + length };
    at += length;
  }
}
