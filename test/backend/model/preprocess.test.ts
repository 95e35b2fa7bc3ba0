import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import sharp, { type Sharp } from 'sharp';
import { decodeImage } from '../../../backend/model/preprocess.js';
import type { DecodedImage } from '../../../backend/model/model.js';
import { Failure } from '../../../contracts/failure.js';
import { simulatedManifest } from '../../../backend/model/simulated-model.js';

type Colour = readonly [number, number, number];

const red: Colour = [230, 20, 30];
const green: Colour = [20, 200, 40];
const blue: Colour = [30, 50, 220];
const yellow: Colour = [240, 220, 30];
const white: Colour = [255, 255, 255];

const input = { ...simulatedManifest().input, width: 20, height: 16 };
const manyPixels = 1e6;

/** 64 × 48 pixels: red and green above, blue and yellow below. */
const width = 64;
const height = 48;
const quadrants = [red, green, blue, yellow];

function picture(colours: readonly (readonly number[])[] = quadrants): Sharp {
  const channels = colours[0]?.length === 4 ? 4 : 3;
  const pixels = Uint8Array.from({ length: width * height * channels }, (_, index) => {
    const at = Math.floor(index / channels);
    const quadrant = (at % width < width / 2 ? 0 : 1) + (at < (width * height) / 2 ? 0 : 2);
    return colours[quadrant]?.[index % channels] ?? 0;
  });
  return sharp(pixels, { raw: { width, height, channels } });
}

/** The colours in the middle of the four quadrants, row by row. */
function coloursOf({ pixels }: DecodedImage): number[][] {
  const places = [4, 12].flatMap((y) => [5, 15].map((x) => [x, y] as const));
  return places.map(([x, y]) => Array.from(pixels.subarray(3 * (y * input.width + x), 3 * (y * input.width + x) + 3)));
}

async function expectColours(image: Buffer, expected: readonly Colour[], tolerance: number): Promise<DecodedImage> {
  const decoded = await decodeImage(image, input, manyPixels);
  assert.equal(decoded.pixels.length, input.width * input.height * 3);
  const found = coloursOf(decoded);
  const far = found.some((colour, place) =>
    colour.some((value, channel) => Math.abs(value - (expected[place]?.[channel] ?? -999)) > tolerance),
  );
  assert.ok(!far, `expected ${JSON.stringify(expected)}, found ${JSON.stringify(found)}`);
  return decoded;
}

describe('an image is turned upright by its EXIF orientation', () => {
  const upright: readonly (readonly Colour[])[] = [
    [red, green, blue, yellow],
    [green, red, yellow, blue],
    [yellow, blue, green, red],
    [blue, yellow, red, green],
    [red, blue, green, yellow],
    [blue, red, yellow, green],
    [yellow, green, blue, red],
    [green, yellow, red, blue],
  ];
  for (const [index, expected] of upright.entries()) {
    const orientation = index + 1;
    test(`orientation ${String(orientation)}`, async () => {
      const image = await picture()
        .withMetadata({ orientation })
        .jpeg({ quality: 100, chromaSubsampling: '4:4:4' })
        .toBuffer();
      const decoded = await expectColours(image, expected, 6);
      assert.deepEqual([decoded.width, decoded.height], orientation < 5 ? [width, height] : [height, width]);
    });
  }
});

function nearestQuadrant(colour: readonly number[]): Colour | undefined {
  const distance = (other: Colour): number =>
    other.reduce((sum, value, channel) => sum + Math.abs(value - (colour[channel] ?? 0)), 0);
  return [...quadrants].sort((one, other) => distance(one) - distance(other))[0];
}

describe('every kind of pixels becomes 8-bit sRGB', () => {
  test('CMYK', async () => {
    const image = await picture().toColourspace('cmyk').jpeg({ quality: 100 }).toBuffer();
    assert.equal((await sharp(image).metadata()).space, 'cmyk');
    // Paper has fewer colours than a screen: the saturation gives way, but every colour stays nearest to itself.
    const found = coloursOf(await decodeImage(image, input, manyPixels));
    assert.deepEqual(found.map(nearestQuadrant), quadrants);
  });

  test('16 bits', async () => {
    const image = await picture().toColourspace('rgb16').png().toBuffer();
    assert.equal((await sharp(image).metadata()).depth, 'ushort');
    await expectColours(image, quadrants, 1);
  });

  test('16 bits with transparency', async () => {
    const half = quadrants.map((colour) => [...colour, 128]);
    const image = await picture(half).toColourspace('rgb16').png().toBuffer();
    assert.equal((await sharp(image).metadata()).depth, 'ushort');
    await expectColours(image, quadrants.map(halfOverWhite), 2);
  });

  test('grey', async () => {
    const image = await picture(greys).toColourspace('b-w').png().toBuffer();
    assert.equal((await sharp(image).metadata()).channels, 1);
    await expectColours(image, greys, 1);
  });

  test('grey of 16 bits', async () => {
    const image = await picture(greys).toColourspace('grey16').png().toBuffer();
    assert.equal((await sharp(image).metadata()).depth, 'ushort');
    await expectColours(image, greys, 1);
  });

  test('grey with transparency', async () => {
    const pale = greys.map((colour) => [...colour, 128]);
    const image = await picture(pale).toColourspace('b-w').png().toBuffer();
    assert.equal((await sharp(image).metadata()).channels, 2);
    await expectColours(image, greys.map(halfOverWhite), 2);
  });

  test('a palette', async () => {
    const image = await picture().png({ palette: true, colours: 8 }).toBuffer();
    assert.equal((await sharp(image).metadata()).isPalette, true);
    await expectColours(image, quadrants, 4);
  });
});

const greys: Colour[] = [10, 90, 160, 240].map((level) => [level, level, level]);

function halfOverWhite(colour: Colour): Colour {
  const [r, g, b] = colour.map((value) => Math.round((value * 128 + 255 * 127) / 255));
  return [r ?? 0, g ?? 0, b ?? 0];
}

test('transparent pixels show the background, opaque ones themselves', async () => {
  const image = await picture([
    [...red, 255],
    [...green, 0],
    [...blue, 128],
    [...yellow, 255],
  ])
    .png()
    .toBuffer();
  await expectColours(image, [red, white, halfOverWhite(blue), yellow], 2);
});

test('of an animation the first frame counts', async () => {
  const black = await sharp({ create: { width, height, channels: 3, background: '#000000' } })
    .png()
    .toBuffer();
  const image = await sharp([await picture().png().toBuffer(), black], { join: { animated: true } })
    .gif({ delay: 100 })
    .toBuffer();
  assert.equal((await sharp(image).metadata()).pages, 2);
  const decoded = await expectColours(image, quadrants, 12);
  assert.deepEqual([decoded.width, decoded.height], [width, height]);
});

test('cover cuts off the sides, contain fills them up', async () => {
  const image = await picture([red, green, red, green]).png().toBuffer();
  const square = { ...input, width: 16, height: 16, background: '#000000' };
  const cover = await decodeImage(image, { ...square, fit: 'cover' }, manyPixels);
  const contain = await decodeImage(image, { ...square, fit: 'contain' }, manyPixels);
  assert.deepEqual(Array.from(cover.pixels.subarray(0, 3)), red);
  assert.deepEqual(Array.from(contain.pixels.subarray(0, 3)), [0, 0, 0]);
});

describe('what cannot be decoded is a coded failure that tells people why', () => {
  const refused = async (image: Uint8Array, code: string, limit = manyPixels): Promise<void> => {
    await assert.rejects(decodeImage(image, input, limit), (error) => {
      assert.ok(error instanceof Failure);
      assert.equal(error.code, code);
      assert.doesNotMatch(error.detail, /vips|jpeg:|\/|buffer/i);
      return true;
    });
  };

  for (const format of ['jpeg', 'png', 'webp', 'gif', 'tiff', 'avif'] as const) {
    test(`a truncated ${format}`, async () => {
      const whole = await picture().toFormat(format).toBuffer();
      await refused(whole.subarray(0, Math.floor(whole.length * 0.7)), 'image_unreadable');
    });
  }

  test('a progressive JPEG that ends in mid-scan', async () => {
    const whole = await picture().jpeg({ progressive: true }).toBuffer();
    await refused(whole.subarray(0, whole.length - 20), 'image_unreadable');
  });

  test('a PNG with flipped bits', async () => {
    const image = await picture().png().toBuffer();
    image[image.length >> 1] = (image[image.length >> 1] ?? 0) ^ 0xff;
    await refused(image, 'image_unreadable');
  });

  test('bytes that are no image, and none at all', async () => {
    await refused(Buffer.from('this is not an image, only text'), 'image_unreadable');
    await refused(new Uint8Array(), 'image_unreadable');
  });

  test('more pixels than allowed', async () => {
    await refused(await picture().png().toBuffer(), 'image_too_large', width * height - 1);
    await decodeImage(await picture().png().toBuffer(), input, width * height);
  });
});
