import assert from 'node:assert/strict';
import test from 'node:test';
import sharp from 'sharp';
import { peoplePhotos } from '../../photos.js';
import { jpegOfSize } from './jpeg-of-size.js';

const [photo = ''] = peoplePhotos;

test('a photo becomes a JPEG of the width asked for, within the size and near it', async () => {
  const jpeg = await jpegOfSize(photo, 320, 30_000);
  const { format, width } = await sharp(jpeg).metadata();
  assert.deepEqual({ format, width }, { format: 'jpeg', width: 320 });
  assert.ok(jpeg.length <= 30_000 && jpeg.length > 24_000, `it has ${String(jpeg.length)} bytes`);
});

test('a size that no quality reaches is refused', async () => {
  await assert.rejects(jpegOfSize(photo, 320, 500), /does not fit into 500 bytes/);
});
