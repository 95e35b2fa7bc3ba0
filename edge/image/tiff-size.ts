import type { Buffer } from 'node:buffer';
import type { Size } from './fixed-header-sizes.js';

const widthTag = 256;
const heightTag = 257;
/** More entries than any directory of an image holds; bounds the walk. */
const mostEntries = 4096;

/** TIFF and BigTIFF: the first directory, which may lie anywhere in the file, has an entry for each (TIFF 6.0, 2). */
export function tiffSize(image: Buffer): Size | undefined {
  const read = reader(image);
  const big = read(2, 2) === 43;
  const directory = big ? read(8, 8) : read(4, 4);
  const countLength = big ? 8 : 2;
  const entryLength = big ? 20 : 12;
  const count = Math.min(read(directory, countLength), mostEntries);
  let width: number | undefined;
  let height: number | undefined;
  for (let index = 0; index < count; index += 1) {
    const at = directory + countLength + index * entryLength;
    const tag = read(at, 2);
    if (tag !== widthTag && tag !== heightTag) continue;
    const length = valueLengths.get(read(at + 2, 2));
    if (length === undefined) return undefined;
    const value = read(at + (big ? 12 : 8), length);
    if (tag === widthTag) width = value;
    else height = value;
  }
  return width !== undefined && height !== undefined ? { width, height } : undefined;
}

/** Field types that a size may have: SHORT, LONG and BigTIFF's LONG8. */
const valueLengths = new Map([
  [3, 2],
  [4, 4],
  [16, 8],
]);

function reader(image: Buffer): (at: number, length: number) => number {
  const little = image[0] === 0x49;
  return (at, length) => {
    if (length === 8) return Number(little ? image.readBigUInt64LE(at) : image.readBigUInt64BE(at));
    return little ? image.readUIntLE(at, length) : image.readUIntBE(at, length);
  };
}
