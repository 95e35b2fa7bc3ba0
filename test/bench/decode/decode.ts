import { availableParallelism } from 'node:os';
import sharp from 'sharp';
import { decodeImage } from '../../../backend/model/preprocess.js';
import { simulatedManifest } from '../../../backend/model/simulated-model.js';
import { photos } from '../../photos.js';
import type { Bench, Measured } from '../bench.js';
import { interleaved, type Side } from '../rounds.js';

/** Longest sides in pixels that photos have when they come; the inputs are those of usual classifiers and detectors. */
const longestSides = [512, 1024, 1920];
const inputs = [224, 640];
const quality = 85;

/** The decoding of backends alone: what sizes the host of a device. */
export const decode: Bench = {
  name: 'decode',
  about:
    'Real photos as JPEG through the decoder of the backend, to pixels of a model, as many at a time as keep all cores busy.',
  run: async ({ rounds, quick, say }): Promise<Measured> => {
    const count = quick ? 10 : 200;
    const sides: Side[] = [];
    for (const longestSide of longestSides) {
      const encoded = await encodedAt(longestSide);
      for (const input of inputs) {
        const name = `to ${String(input)} × ${String(input)}`;
        sides.push({ name, point: longestSide, measure: () => decodeMany(encoded, input, count) });
      }
    }
    return {
      rounds: await interleaved(sides, { rounds, warmUps: 1, say }),
      columns: [
        { key: 'cpuMs', label: 'CPU ms a picture', digits: 2 },
        { key: 'perCore', label: 'pictures/s a core', digits: 0 },
        { key: 'perSecond', label: 'pictures/s, all cores', digits: 0 },
        { key: 'kilobytes', label: 'kB a picture', digits: 0 },
      ],
      goals: [],
      charts: [
        {
          name: 'per-core',
          title: 'Pictures decoded per second and core, by longest side',
          key: 'perCore',
          axis: 'pixels',
        },
      ],
      settings: { photos: photos.length, quality, picturesEach: count, cores: availableParallelism() },
      remarks: [
        'a picture a core and one more are under way at a time; the upright size and pixels are asked for, as by a backend',
      ],
    };
  },
};

async function encodedAt(longestSide: number): Promise<readonly Buffer[]> {
  const box = { width: longestSide, height: longestSide, fit: 'inside' } as const;
  return Promise.all(photos.map((photo) => sharp(photo).autoOrient().resize(box).jpeg({ quality }).toBuffer()));
}

async function decodeMany(encoded: readonly Buffer[], side: number, count: number): Promise<Record<string, number>> {
  const { input } = simulatedManifest();
  const [cpu, startedAt] = [process.cpuUsage(), performance.now()];
  let begun = 0;
  const worker = async () => {
    while (begun < count) {
      const picture = encoded[begun++ % encoded.length];
      if (picture) await decodeImage(picture, { ...input, width: side, height: side }, 50_000_000);
    }
  };
  await Promise.all(Array.from({ length: availableParallelism() + 1 }, worker));
  const { user, system } = process.cpuUsage(cpu);
  const cpuMs = (user + system) / 1000 / count;
  const bytes = encoded.reduce((sum, picture) => sum + picture.length, 0) / encoded.length;
  const perSecond = (count * 1000) / (performance.now() - startedAt);
  return { cpuMs, perCore: 1000 / cpuMs, perSecond, kilobytes: bytes / 1000 };
}
