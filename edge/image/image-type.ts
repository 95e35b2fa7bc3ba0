import type { Buffer } from 'node:buffer';

export const imageTypes = ['jpeg', 'png', 'webp', 'gif', 'avif', 'tiff'] as const;
export type ImageType = (typeof imageTypes)[number];

const pngSignature = '89504e470d0a1a0a';
/** Classic and big TIFF, little and big endian. */
const tiffSignatures = ['49492a00', '4d4d002a', '49492b00', '4d4d002b'];

/** The type that an image's first bytes tell; undefined where it is none that is read here. */
export function imageTypeOf(image: Buffer): ImageType | undefined {
  if (image[0] === 0xff && image[1] === 0xd8 && image[2] === 0xff) return 'jpeg';
  if (image.toString('hex', 0, 8) === pngSignature) return 'png';
  const start = image.toString('latin1', 0, 12);
  if (start.startsWith('RIFF') && start.endsWith('WEBP')) return 'webp';
  if (start.startsWith('GIF87a') || start.startsWith('GIF89a')) return 'gif';
  if (tiffSignatures.includes(image.toString('hex', 0, 4))) return 'tiff';
  return start.slice(4, 8) === 'ftyp' && isAvif(image) ? 'avif' : undefined;
}

/** The file type box lists brands; other members of the family (HEIC) have the same box with other brands. */
function isAvif(image: Buffer): boolean {
  const length = image.length < 16 ? 0 : Math.min(image.readUInt32BE(0), image.length, 256);
  for (let at = 8; at + 4 <= length; at += 4) {
    const brand = image.toString('latin1', at, at + 4);
    if (brand === 'avif' || brand === 'avis') return true;
  }
  return false;
}
