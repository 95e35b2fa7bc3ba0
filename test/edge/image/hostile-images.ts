import { Buffer } from 'node:buffer';

/** One box of the ISO base media format: length, type, contents. */
export function box(type: string, contents: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + contents.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, contents]);
}

/** An AVIF header with one spatial extent per given pair. */
export function avifWithExtents(extents: readonly (readonly [width: number, height: number])[]): Buffer {
  const ispe = extents.map(([width, height]) => {
    const contents = Buffer.alloc(12);
    contents.writeUInt32BE(width, 4);
    contents.writeUInt32BE(height, 8);
    return box('ispe', contents);
  });
  const meta = box('meta', Buffer.concat([Buffer.alloc(4), box('iprp', box('ipco', Buffer.concat(ispe)))]));
  return Buffer.concat([box('ftyp', Buffer.from('avif\0\0\0\0avifmif1', 'latin1')), meta]);
}

/** A PNG that claims a size; a decoder that believed it would fill the memory. */
export function pngClaiming(width: number, height: number): Buffer {
  const png = Buffer.alloc(64);
  png.write('89504e470d0a1a0a0000000d49484452', 'hex');
  png.writeUInt32BE(width, 16);
  png.writeUInt32BE(height, 20);
  return png;
}
