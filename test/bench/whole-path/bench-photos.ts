import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { photos } from '../../photos.js';

/** Longest side in pixels, and JPEG quality: ten files of 86 to 178 kB. */
export const photoSize = { longestSide: 1024, quality: 85 } as const;

/** Gives ten real photos as files of the size that people upload to a service; they are gone when the work is done. */
export async function withBenchPhotos<Result>(work: (files: readonly string[]) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'bench-photos-'));
  try {
    const files = photos.map((_, i) => join(folder, `${String(i)}.jpg`));
    for (const [i, file] of files.entries()) await writeSmaller(photos[i] ?? '', file);
    return await work(files);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeSmaller(photo: string, file: string): Promise<void> {
  const { longestSide, quality } = photoSize;
  const box = { width: longestSide, height: longestSide, fit: 'inside', withoutEnlargement: true } as const;
  await sharp(photo).autoOrient().resize(box).jpeg({ quality }).toFile(file);
}
