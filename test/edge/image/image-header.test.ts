import assert from 'node:assert/strict';
import { Buffer } from 'node:buffer';
import { test } from 'node:test';
import sharp from 'sharp';
import { Failure } from '../../../contracts/failure.js';
import { imageTypes, type ImageType } from '../../../edge/image/image-type.js';
import { readImageHeader } from '../../../edge/image/image-header.js';
import { avifWithExtents, box, pngClaiming } from './hostile-images.js';

const megapixel = 1_000_000;
const picture = sharp({ create: { width: 37, height: 23, channels: 3, background: '#c04020' } });

const encode: Record<ImageType, () => Promise<Buffer>> = {
  jpeg: () => picture.clone().jpeg().toBuffer(),
  png: () => picture.clone().png().toBuffer(),
  webp: () => picture.clone().webp().toBuffer(),
  gif: () => picture.clone().gif().toBuffer(),
  avif: () => picture.clone().avif({ effort: 0 }).toBuffer(),
  tiff: () => picture.clone().tiff().toBuffer(),
};

function code(action: () => unknown): string {
  try {
    action();
    return 'none';
  } catch (error) {
    return error instanceof Failure ? error.code : `uncoded: ${String(error)}`;
  }
}

for (const type of imageTypes) {
  test(`the header of a ${type} gives type, width and height`, async () => {
    assert.deepEqual(readImageHeader(await encode[type](), megapixel), { type, width: 37, height: 23 });
  });

  test(`a ${type} that is cut off anywhere is read or refused with a code`, async () => {
    const image = await encode[type]();
    for (let length = 0; length < Math.min(image.length, 2000); length += 1) {
      // In a buffer shared with others, a read beyond the end would find their bytes.
      const cut = Buffer.concat([image.subarray(0, length), Buffer.alloc(64, 0x11)]).subarray(0, length);
      const outcome = code(() => assert.equal(readImageHeader(cut, megapixel).width, 37));
      assert.ok(['none', 'image_unreadable', 'unsupported_image'].includes(outcome), `${length} bytes: ${outcome}`);
    }
  });

  test(`a ${type} with any byte of its head changed is read or refused with a code`, async () => {
    const image = await encode[type]();
    for (let at = 0; at < Math.min(image.length, 400); at += 1) {
      for (const value of [0x00, 0x01, 0x7f, 0x80, 0xff]) {
        const changed = Buffer.from(image);
        changed[at] = value;
        assert.doesNotMatch(
          code(() => readImageHeader(changed, megapixel)),
          /uncoded/,
          `byte ${at} as ${value}`,
        );
      }
    }
  });
}

test('every flavour of WebP, JPEG and TIFF is read', async () => {
  const rgba = picture.clone().ensureAlpha(0.5);
  const flavours = [
    picture.clone().webp({ lossless: true }),
    rgba.clone().webp(),
    picture.clone().jpeg({ progressive: true }),
    picture.clone().withMetadata({ orientation: 6 }).jpeg(),
    picture.clone().tiff({ bigtiff: true }),
    picture.clone().tiff({ compression: 'lzw', predictor: 'horizontal' }),
    picture.clone().tiff({ tile: true, tileWidth: 16, tileHeight: 16 }),
  ];
  for (const flavour of flavours) {
    const { width, height } = readImageHeader(await flavour.toBuffer(), megapixel);
    assert.deepEqual([width, height], [37, 23]);
  }
});

test('a big-endian TIFF is read', () => {
  const tiff = Buffer.alloc(8 + 2 + 2 * 12 + 4);
  tiff.write('4d4d002a00000008', 'hex');
  tiff.writeUInt16BE(2, 8);
  tiff.write('010000030000000100250000', 10, 'hex');
  tiff.write('010100040000000100000017', 22, 'hex');
  assert.deepEqual(readImageHeader(tiff, megapixel), { type: 'tiff', width: 37, height: 23 });
});

test('an animation has the size of one frame', async () => {
  const frames = sharp(Buffer.alloc(4 * 4 * 3 * 3), {
    raw: { width: 4, height: 12, channels: 3, pageHeight: 4 },
  });
  for (const image of [await frames.clone().gif().toBuffer(), await frames.clone().webp().toBuffer()]) {
    const { width, height } = readImageHeader(image, megapixel);
    assert.deepEqual([width, height], [4, 4]);
  }
});

test('a header that promises more pixels than allowed is refused, with both numbers', () => {
  assert.throws(
    () => readImageHeader(pngClaiming(60_000, 60_000), 50_000_000),
    (error) => {
      assert.ok(error instanceof Failure && error.code === 'image_too_large');
      assert.match(error.detail, /60000 × 60000/);
      assert.match(error.detail, /50000000/);
      return true;
    },
  );
  assert.equal(
    code(() => readImageHeader(pngClaiming(2 ** 32 - 1, 2 ** 32 - 1), 50_000_000)),
    'image_too_large',
  );
});

test('the largest extent of an AVIF counts, wherever it stands', () => {
  const image = avifWithExtents([
    [1, 1],
    [30_000, 30_000],
    [2, 2],
  ]);
  assert.equal(
    code(() => readImageHeader(image, megapixel)),
    'image_too_large',
  );
});

test('a header without width or height is unreadable', () => {
  assert.equal(
    code(() => readImageHeader(pngClaiming(0, 10), megapixel)),
    'image_unreadable',
  );
});

test('a HEIC, an SVG, a text and nothing are not images that are read here, and the answer says which are', () => {
  const heic = box('ftyp', Buffer.from('heic\0\0\0\0heicmif1', 'latin1'));
  for (const other of [
    heic,
    Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>'),
    Buffer.from('hello'),
    Buffer.alloc(0),
  ]) {
    assert.equal(
      code(() => readImageHeader(other, megapixel)),
      'unsupported_image',
    );
  }
  assert.throws(() => readImageHeader(heic, megapixel), /jpeg, png, webp, gif, avif, tiff/);
});

// A reader whose work grows with the square of the length would need many minutes for any of these.
test('ten megabytes made to keep a header reader busy do not', { timeout: 20_000 }, () => {
  const length = 10 * 1024 * 1024;
  const zeros = Buffer.alloc(length);
  zeros.write('ffd8ff', 'hex');
  const stuffed = Buffer.alloc(length, Buffer.from('ff00', 'hex'));
  stuffed.write('ffd8ff', 'hex');
  const segments = Buffer.alloc(length, Buffer.from('ffe10002', 'hex'));
  segments.write('ffd8ffe0', 'hex');
  const directory = Buffer.alloc(length, 0x01);
  directory.write('49492a0008000000', 'hex');
  const pointingOut = Buffer.from('49492b0008000000ffffffffffffffff', 'hex');
  const extents = avifWithExtents(Array.from({ length: length / 20 }, () => [5, 5] as const));
  for (const hostile of [zeros, stuffed, segments, directory, pointingOut, extents]) {
    for (let round = 0; round < 20; round += 1) {
      assert.doesNotMatch(
        code(() => readImageHeader(hostile, megapixel)),
        /uncoded/,
      );
    }
  }
});
